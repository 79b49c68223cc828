// Jumps between commands, using the places that the host marks in the output.
import { places, term } from './term.js';

// found returns the listed commands with their rows, without those whose lines are gone.
const found = () =>
  [...(frameElement?.closest('.termpane')?.querySelectorAll('[data-jump]') || [])]
    .map((b) => ({ id: b.dataset.jump, row: places.get(b.dataset.jump)?.line ?? -1 }))
    .filter((c) => c.row >= 0)
    .sort((a, b) => a.row - b.row);
let mark = null;
let at = null;
function show(row) {
  mark?.dispose();
  const b = term.buffer.normal;
  const marker = term.registerMarker(row - b.baseY - b.cursorY);
  mark =
    marker &&
    term.registerDecoration({ marker, width: term.cols, backgroundColor: term.options.theme.selectionBackground });
  term.scrollToLine(Math.max(0, row - 1));
  at = row;
}
term.onData(() => {
  mark?.dispose();
  mark = at = null;
});
export function showCommand(way, id) {
  if (term.buffer.active.type !== 'normal') return;
  const rows = found();
  const from =
    at ??
    (term.buffer.normal.viewportY === term.buffer.normal.baseY
      ? term.buffer.normal.length
      : term.buffer.normal.viewportY);
  const to = id
    ? rows.find((r) => r.id === id)
    : way < 0
      ? rows.findLast((r) => r.row < from)
      : rows.find((r) => r.row > from);
  if (to) show(to.row);
  else if (way > 0) {
    mark?.dispose();
    mark = at = null;
    term.scrollToBottom();
  }
}
