"use strict";
const byId = (id) => document.getElementById(id);
const payload = JSON.parse(byId("payload").textContent);
const cloud = JSON.parse(byId("cloud-data").textContent);

// Light or dark: the system's choice until the button is pressed.
byId("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const now = document.documentElement.dataset.theme || system;
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  if (cloud) drawCloud();
});

// The table of units: numbers sort by their full value, not by what is shown.
const heads = [...document.querySelectorAll("#units th")];
heads.forEach((head, column) => {
  const button = head.querySelector("button");
  if (!button) return;
  button.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.querySelector("button") && other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = document.querySelector("#units tbody");
    const value = (row) => Number(row.cells[column].dataset.value);
    const rows = [...body.rows].sort((a, b) => (falling ? value(b) - value(a) : value(a) - value(b)));
    body.append(...rows);
  });
});

// Downloads: built here, so that they work offline.
function download(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const quoted = (cell) => (/[",\n\r]/.test(cell) ? '"' + String(cell).replaceAll('"', '""') + '"' : String(cell));
function unitsAsCsv() {
  const errors = payload.standard_errors;
  const scalars = ["weights", "slopes", "offsets"];
  const known = scalars.filter((name) => Array.isArray(errors[name]) && errors[name].length === payload.weights.length);
  const head = ["unit", ...scalars, ...known.map((name) => name + "_error"), ...payload.columns];
  const rows = payload.weights.map((_, i) => [
    i + 1, ...scalars.map((name) => payload[name][i]), ...known.map((name) => errors[name][i] ?? ""), ...payload.units[i],
  ]);
  return [head, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}
byId("json").addEventListener("click", () => download("found.json", "application/json", JSON.stringify(payload, null, 1)));
byId("csv").addEventListener("click", () => download("units.csv", "text/csv", unitsAsCsv()));

// Directions on the sphere, turned by two angles and drawn back to front.
const START = { yaw: 0.6, pitch: 0.4, zoom: 1 };
const view = { ...START };

function turned([x, y, z]) {
  const a = Math.cos(view.yaw), b = Math.sin(view.yaw), c = Math.cos(view.pitch), s = Math.sin(view.pitch);
  const across = a * x - b * y, away = b * x + a * y;
  return [across, c * z + s * away, s * z - c * away]; // right, up, towards the reader
}

function drawCloud() {
  const canvas = byId("cloud"), scale = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line");
  const size = 0.4 * Math.min(width, height) * view.zoom;
  const place = (p) => { const [x, y, z] = turned(p); return [width / 2 + size * x, height / 2 - size * y, z]; };
  drawSphere(pen, place, line);
  const dots = cloud.points.map((p, i) => [...place(p), cloud.colors[cloud.groups[i]]]).sort((a, b) => a[2] - b[2]);
  const big = dots.length < 150 ? 1.9 : 1;
  for (const [x, y, z, color] of dots) {
    pen.globalAlpha = 0.35 + 0.3 * (z + 1);
    pen.fillStyle = color;
    pen.beginPath();
    pen.arc(x, y, big * (1.6 + 0.7 * (z + 1)), 0, 7);
    pen.fill();
  }
  pen.globalAlpha = 1;
  cloud.arrows.forEach((p, i) => drawArrow(pen, place([0, 0, 0]), place(p), cloud.colors[i], ink, String(i + 1)));
  canvas.dataset.yaw = view.yaw.toFixed(4);
  canvas.dataset.pitch = view.pitch.toFixed(4);
  canvas.dataset.zoom = view.zoom.toFixed(3);
}

function drawSphere(pen, place, line) {
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  for (let ring = 0; ring < 9; ring++) {
    pen.beginPath();
    for (let step = 0; step <= 72; step++) {
      const t = (2 * Math.PI * step) / 72, tilt = (Math.PI * ring) / 6, height = (ring - 7) * 0.5;
      const around = Math.sqrt(1 - height * height);
      const p = ring < 6 ? [Math.cos(tilt) * Math.cos(t), Math.sin(tilt) * Math.cos(t), Math.sin(t)]
        : [around * Math.cos(t), around * Math.sin(t), height];
      const [x, y] = place(p);
      if (step) pen.lineTo(x, y); else pen.moveTo(x, y);
    }
    pen.stroke();
  }
}

function drawArrow(pen, from, to, color, ink, name) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const wing = (turn) => [to[0] - 11 * Math.cos(angle + turn), to[1] - 11 * Math.sin(angle + turn)];
  pen.strokeStyle = pen.fillStyle = color;
  pen.lineWidth = 3;
  pen.beginPath();
  pen.moveTo(from[0], from[1]);
  pen.lineTo(to[0], to[1]);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to[0], to[1]);
  pen.lineTo(...wing(0.4));
  pen.lineTo(...wing(-0.4));
  pen.fill();
  pen.fillStyle = ink;
  pen.font = "600 14px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(name, to[0] + 13 * Math.cos(angle), to[1] + 13 * Math.sin(angle));
}

function turnBy(yaw, pitch) {
  view.yaw += yaw;
  view.pitch = Math.max(-1.5, Math.min(1.5, view.pitch + pitch));
  drawCloud();
}

function zoomBy(factor) {
  view.zoom = Math.max(0.5, Math.min(4, view.zoom * factor));
  drawCloud();
}

if (cloud) {
  const canvas = byId("cloud");
  let held = null;
  canvas.addEventListener("pointerdown", (e) => { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) return;
    turnBy((e.clientX - held[0]) / 120, (e.clientY - held[1]) / 120);
    held = [e.clientX, e.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
  canvas.addEventListener("keydown", (e) => {
    const turn = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[e.key];
    if (turn) { turnBy(...turn); e.preventDefault(); }
  });
  byId("nearer").addEventListener("click", () => zoomBy(1.25));
  byId("further").addEventListener("click", () => zoomBy(0.8));
  byId("upright").addEventListener("click", () => { Object.assign(view, START); drawCloud(); });
  cloud.arrows.slice(0, 20).forEach((_, i) => {
    const mark = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = cloud.colors[i];
    mark.append(dot, "unit " + (i + 1));
    byId("legend").append(mark);
  });
  new ResizeObserver(drawCloud).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCloud);
}
