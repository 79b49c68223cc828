// The terminal inside its frame: xterm.js fed by a WebSocket. Binary frames are output; text frames are JSON:
// {"reset":true} before a whole screen and {"size":[cols,rows],"mine":bool} from the host, and {"i":keys} {"r":[cols,rows]} {"a":bytes taken} to it.
(() => {
'use strict';
const $ = (id) => document.getElementById(id);
const data = document.body.dataset;
const may = 'type' in data;
const term = new Terminal({
  cols: +data.cols || 80, rows: +data.rows || 24, fontSize: 12.5, lineHeight: 1.3, scrollback: 5000, disableStdin: !may,
  fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace', cursorBlink: false, screenReaderMode: false,
  theme: { background: '#16181b', foreground: '#e6e8ea', cursor: '#e6e8ea' }, linkHandler: { activate: (e, uri) => { if (/^https?:/.test(uri)) open(uri, '_blank', 'noopener,noreferrer'); } },
});
const fit = new FitAddon.FitAddon();
term.loadAddon(fit);
term.open($('term'));
window.ahphubTerm = term;

let socket, tries = 0, mine = 'mine' in data;
const tell = (m) => { if (socket && socket.readyState === 1) socket.send(JSON.stringify(m)); };
function connect() {
  socket = new WebSocket(location.origin.replace(/^http/, 'ws') + data.stream);
  socket.binaryType = 'arraybuffer';
  const own = socket;
  let taken = 0, told = 0, soon = 0;
  const say = () => { soon = 0; if (own === socket && told < taken) tell({ a: told = taken }); };
  socket.onopen = () => { tries = 0; delete $('leave').dataset.off; size(); };
  socket.onmessage = (e) => {
    if (typeof e.data === 'string') {
      const m = JSON.parse(e.data);
      if (m.reset) { term.write('\x1bc'); return; } // in its place among the output
      mine = m.mine;
      if (!mine && m.size && m.size[0] > 0 && m.size[1] > 0) term.resize(m.size[0], m.size[1]);
      if (mine) size();
      return;
    }
    const b = new Uint8Array(e.data);
    term.write(b, () => { taken += b.length; if (taken - told >= 32768) say(); else if (!soon) soon = setTimeout(say, 50); });
  };
  socket.onclose = (e) => {
    if (e.code === 4404) return;
    $('leave').dataset.off = '';
    setTimeout(connect, Math.min(150 * 2 ** tries++, 8000) * (0.75 + Math.random() / 2));
  };
}
let last = '';
function size() {
  if (!mine) return;
  const d = fit.proposeDimensions();
  if (!d || !d.cols || !d.rows) return;
  if (d.cols !== term.cols || d.rows !== term.rows) term.resize(d.cols, d.rows);
  const now = d.cols + 'x' + d.rows;
  if (now !== last) { last = now; tell({ r: [d.cols, d.rows] }); }
}
let due;
new ResizeObserver(() => { clearTimeout(due); due = setTimeout(size, 60); }).observe($('term'));

// Keys. Everything goes to the shell but one chord, which leaves the frame.
let ctrl = false;
const press = (on) => { ctrl = on; document.querySelector('[data-key=ctrl]').setAttribute('aria-pressed', on); };
term.onData((s) => {
  if (ctrl && s.length === 1 && /[a-z@[\\\]^_?]/i.test(s)) s = String.fromCharCode(s.toUpperCase().charCodeAt(0) & 31);
  if (ctrl) press(false);
  tell({ i: s });
});
term.onBinary((s) => tell({ i: s }));
term.attachCustomKeyEventHandler((e) => {
  if (e.ctrlKey && e.altKey && e.key === '.') {
    if (e.type === 'keydown') { term.blur(); parent.focus(); parent.document.querySelector('.chip[aria-current], #main')?.focus(); }
    return false;
  }
  return true;
});
const codes = { esc: '\x1b', tab: '\t', up: '\x1b[A', down: '\x1b[B', int: '\x03' };
$('keys').addEventListener('click', (e) => {
  const k = e.target.dataset.key;
  if (k === 'ctrl') press(!ctrl);
  else if (k) tell({ i: codes[k] });
  term.focus();
});
connect();
if (may) term.focus();
})();
