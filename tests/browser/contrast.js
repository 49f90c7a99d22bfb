// Contrast of every visible text with what lies behind it (WCAG 2); returns those below 4.5 to 1.
const channel = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const numbers = (color) => color.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const back = numbers(getComputedStyle(e).backgroundColor);
    if (back.length < 4 || back[3] > 0) return back;
  }
  return [255, 255, 255];
}
const poor = [];
for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.getClientRects().length || element.disabled) continue;
  const a = light(numbers(getComputedStyle(element).color)), b = light(behind(element));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.push([element.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
}
return poor;
