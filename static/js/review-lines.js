// Lines of a review by mouse: the "+" of the hovered row, ranges by dragging, wrapped lines, the
// list of files on narrow screens. It builds on review.js.
import { $, may } from './dom.js';
import { currentRow, extendRange, fileOf, hooks, root, split, startRange } from './review.js';

const plus = document.createElement('button'); // one for the page: it moves to the hovered row
plus.className = 'plus';
plus.type = 'button';
plus.tabIndex = -1; // the keyboard shortcut is c
plus.title = 'Comment on this line';
plus.setAttribute('aria-label', plus.title);
let touched = false;
addEventListener('pointerdown', (e) => {
  touched = e.pointerType === 'touch';
});
const rowOf = (e) => e.target.closest?.('.r:not(.e)');
const gutter = (e) => {
  const row = rowOf(e);
  const width = row && parseFloat(getComputedStyle(row, '::before').width);
  return row && e.target === row && e.clientX - row.getBoundingClientRect().left < width ? row : null;
};
let drag = null; // its start, and whether it ends with a comment
root.addEventListener('mousedown', (e) => {
  const cell = e.target.closest?.('.r');
  if (cell && split()) {
    const { classList } = cell.closest('.file-body');
    classList.toggle('pick-l', cell.classList.contains('l'));
    classList.toggle('pick-r', !cell.classList.contains('l'));
  }
  const comments = e.target === plus;
  const row = e.button === 0 && (comments ? rowOf(e) : gutter(e));
  if (!row) return;
  e.preventDefault();
  const from = currentRow();
  if (e.shiftKey && from) extendRange(from, row);
  else if (!comments || !row.matches('.sel')) startRange(row);
  drag = { row, comments: comments || touched };
});
root.addEventListener('mouseover', (e) => {
  const row = rowOf(e);
  if (drag && e.buttons === 1) {
    if (row && row !== currentRow() && fileOf(row) === fileOf(drag.row)) extendRange(drag.row, row);
    return;
  }
  if (!row || row === plus.parentElement || e.buttons || !may('comment')) return;
  row.append(plus);
});
$('#files')?.addEventListener('mouseleave', () => plus.remove());
addEventListener('mouseup', () => {
  if (!drag) return;
  const { comments } = drag;
  drag = null;
  if (comments) hooks.comment();
  else hooks.link?.();
});

root.addEventListener('click', (e) => {
  const b = e.target.closest('.wrap-lines, .tree-button');
  const menu = e.target.closest('.more-menu')?.parentElement;
  if (menu) menu.open = false;
  if (!b) return;
  const wraps = b.matches('.wrap-lines');
  const on = root.classList.toggle(wraps ? 'wrapped' : 'tree-open');
  b.setAttribute(wraps ? 'aria-pressed' : 'aria-expanded', on);
  if (wraps) {
    document.cookie = `wrap=${on ? 'on' : ''};path=/;max-age=${on ? 31536000 : 0};samesite=lax`;
  }
});
hooks.fileChosen = () => {
  root.classList.remove('tree-open');
  $('.tree-button')?.setAttribute('aria-expanded', 'false');
};
