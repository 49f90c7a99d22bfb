from __future__ import annotations
import numpy as np
from .box import Box
from .first_layer import read_first_layer
from .feature_map import FeatureMap
from .line_scan import Line
from .next_layer import NextLayer, Side, search_lines
from .last_layer import fit_last_layer
from .unit_signs import signs_from_gradients, signs_from_linear_term
from .segments_to_search import lines_for
from .deep_fit import Deep, fit_deep
from .settings import POLICY

class Stop(Exception): pass

def reach_of(box):
    rad=[]; 
    for v in box.rng.standard_normal((3,box.d)):
        v=v/np.linalg.norm(v); r=4.0**np.arange(-2,14); y=box.ask(r[:10,None]*v,"reach")
        s=np.diff(y)/np.diff(r[:10]); 
        ok=[i for i in range(1,len(s)) if abs(s[i]-s[i-1])<=1e-7*abs(s).max()]
        # from where on all slopes agree
        j=len(s)-1
        while j>0 and abs(s[j]-s[j-1])<=1e-7*max(abs(s[-1]),1e-12): j-=1
        rad.append(r[j]); box.slopes.append(abs(s[-1]))
    box.slope=float(np.median(box.slopes)); return float(np.median(rad))

def read(box, log=lambda *a:None):
    s=reach_of(box); log('reach',s)
    first=read_first_layer(box, 30*s)
    log('first',first.k,first.complete,first.n_deeper,box.ledger.n_queries)
    layer=NextLayer(first.A,first.b); 
    layer.sides=[Side(i,c.point,c.way,c.before,c.after) for i,c in enumerate(first.crossings)]
    phi=FeatureMap([]); scale=1.5*first.radius
    while True:
        last=fit_last_layer(box,phi,layer)
        log('layer',layer.k,'share',last.share,'deeper',layer.n_deeper,'open',layer.n_open,box.ledger.n_queries)
        if last.share==1: break
        sg=signs_from_gradients(phi,layer)
        if not sg.known: raise Stop('signs unknown')
        log('signs slope',sg.slope)
        phi=FeatureMap([*phi.layers,(layer.rows*sg.signs[:,None],layer.offsets*sg.signs)],sg.slope)
        layer=NextLayer.empty(phi.widths[-1]); idle=0
        for n,line in enumerate(lines_for(box,phi,scale)):
            k0=layer.k
            m=search_lines(box,phi,layer,[line],scale*np.array([1,3,10.]))
            idle=idle+1 if layer.k==k0 else 0
            last=fit_last_layer(box,phi,layer)
            log('  line',n,'kinks',m,'k',layer.k,'share %.3f'%last.share,'deeper',layer.n_deeper,'open',layer.n_open,box.ledger.n_queries)
            if last.share==1 or (idle>=6 and layer.n_deeper>=3): break
            if n>60: raise Stop('no end')
    sg,rest=signs_from_linear_term(last.alpha,layer.rows,last.gamma)
    log('signs',sg,'rest',np.abs(rest).max(initial=0))
    W=layer.rows*sg.signs[:,None]; b=layer.offsets*sg.signs
    a=phi.slope; v=2*last.alpha/(1-a)
    lin=rest if rest.any() else None
    net=Deep([*phi.layers,(W,b),(v[None],np.array([last.constant]))],lin,a)
    c0=np.median(box.ledger.y[:50]-fit0(net,box.ledger.X[:50]))
    net.layers[-1]=(v[None],np.array([c0]))
    f=fit_deep(net,box.ledger.X,box.ledger.y,POLICY.spacing)
    log('fit',f.chi,f.worst,f.n)
    return f
def fit0(net,X):
    from .deep_fit import pass_through
    n2=net._replace(layers=[*net.layers[:-1],(net.layers[-1][0],np.zeros(1))])
    return pass_through(n2,X).values
