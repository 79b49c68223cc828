// From command to command. Where each was typed is found in the screen itself, from the newest up, so it holds for
// a screen that was sent whole as for one that was watched.
(() => {
'use strict';
const app = window.ahphubFrame, term = app.term;
const listed = () => [...(frameElement?.closest('.termpane')?.querySelectorAll('.command-line') || [])]
  .map((b) => ({ id: b.dataset.jump, line: b.querySelector('code').textContent.split('\n')[0].trimEnd() }));
// lines are the screen's, wrapped rows joined: [row, text].
function lines() {
  const b = term.buffer.normal, out = [];
  for (let i = 0; i < b.length; i++) {
    const l = b.getLine(i), text = l.translateToString(!b.getLine(i + 1)?.isWrapped);
    if (l.isWrapped && out.length) out[out.length - 1][1] += text;
    else out.push([i, text]);
  }
  return out;
}
// found gives each command its row. Backwards the last line that ends with it; then the first such line behind the
// command before it, as a shell that traces prints a command again.
function found() {
  const all = lines(), rows = [], list = listed();
  const is = (i, c) => { const t = all[i][1].trimEnd(); return t.endsWith(c.line) && t.length > c.line.length; };
  let i = all.length - 1;
  for (const c of list.toReversed()) {
    let at = i;
    while (at >= 0 && !is(at, c)) at--;
    if (at < 0) continue;
    rows.unshift({ ...c, at });
    i = at - 1;
  }
  rows.forEach((r, n) => { for (let j = n ? rows[n - 1].at + 1 : 0; j < r.at; j++) if (is(j, r)) { r.at = j; break; } });
  return rows.map((r) => ({ id: r.id, row: all[r.at][0] }));
}
let mark = null, at = null;
function show(row) {
  mark?.dispose();
  const b = term.buffer.normal, marker = term.registerMarker(row - b.baseY - b.cursorY);
  mark = marker && term.registerDecoration({ marker, width: term.cols, backgroundColor: term.options.theme.selectionBackground });
  term.scrollToLine(Math.max(0, row - 1));
  at = row;
}
term.onData(() => { mark?.dispose(); mark = at = null; });
app.toCommand = (way, id) => {
  if (term.buffer.active.type !== 'normal') return;
  const rows = found(), from = at ?? (term.buffer.normal.viewportY === term.buffer.normal.baseY ? term.buffer.normal.length : term.buffer.normal.viewportY);
  const to = id ? rows.find((r) => r.id === id) : way < 0 ? rows.findLast((r) => r.row < from) : rows.find((r) => r.row > from);
  if (to) show(to.row);
  else if (way > 0) { mark?.dispose(); mark = at = null; term.scrollToBottom(); }
};
})();
