// Search in a terminal and its scrollback: a box over its corner, "3 of 17", previous and next.
import { $ } from './dom.js';
import { chordOf, leave, own, term } from './term.js';

const search = new SearchAddon.SearchAddon({ highlightLimit: 2000 });
term.loadAddon(search);
const make = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};
const input = make('input', {
  type: 'search',
  id: 'find',
  placeholder: 'Find',
  autocomplete: 'off',
  spellcheck: false,
});
input.setAttribute('aria-label', 'Find in the terminal');
const count = make('span', { id: 'found', role: 'status' });
const button = (text, label, does) => {
  const b = make('button', { type: 'button', title: label, onclick: does }, text);
  b.setAttribute('aria-label', label);
  return b;
};
const toggle = (text, label, key) => {
  const b = button(text, label, () => {
    options[key] = !options[key];
    b.setAttribute('aria-pressed', options[key]);
    go(1, true);
  });
  b.setAttribute('aria-pressed', false);
  return b;
};
const options = { caseSensitive: false, regex: false };
const box = make(
  'div',
  { id: 'search', role: 'search', hidden: true },
  input,
  count,
  toggle('Aa', 'Match case', 'caseSensitive'),
  toggle('.*', 'Regular expression', 'regex'),
  button('↑', 'Previous (Shift Enter)', () => go(-1)),
  button('↓', 'Next (Enter)', () => go(1)),
  button('✕', 'Close (Esc)', close),
);
$('main').append(box);

const colours = () => {
  const light = term.options.theme.background === '#ffffff';
  return light
    ? {
        matchBackground: '#fbe7a2',
        matchOverviewRuler: '#b88a00',
        activeMatchBackground: '#f5b942',
        activeMatchColorOverviewRuler: '#8a5a00',
        activeMatchBorder: '#8a5a00',
      }
    : {
        matchBackground: '#5c4a12',
        matchOverviewRuler: '#e6c068',
        activeMatchBackground: '#8a6a10',
        activeMatchColorOverviewRuler: '#ffffff',
        activeMatchBorder: '#f2d68c',
      };
};
search.onDidChangeResults((r) => {
  count.textContent = !input.value
    ? ''
    : r.resultCount
      ? (r.resultIndex >= 0 ? `${r.resultIndex + 1} of ` : '') + r.resultCount
      : 'none';
  input.classList.toggle('none', !!input.value && !r.resultCount);
});
function go(way, typing) {
  if (!input.value) {
    search.clearDecorations();
    count.textContent = '';
    input.classList.remove('none');
    return;
  }
  const how = { ...options, decorations: colours() };
  if (typing) term.clearSelection(); // the match nearest to the end comes first
  try {
    way < 0 || typing ? search.findPrevious(input.value, how) : search.findNext(input.value, how);
  } catch {
    count.textContent = 'not a pattern';
  }
}
function close() {
  box.hidden = true;
  search.clearDecorations();
  term.focus();
}
input.addEventListener('input', () => go(1, true));
box.addEventListener('keydown', (e) => {
  if ((e.key === 'Enter' && e.target === input) || e.key === 'F3') {
    e.preventDefault();
    go(e.shiftKey ? -1 : 1);
  }
  if (e.key === 'Escape') {
    e.preventDefault();
    close();
  }
  if (chordOf(e) === own.chord) {
    close();
    leave();
  }
});
export function openSearch() {
  const text = term.getSelection();
  box.hidden = false;
  if (text && !text.includes('\n')) input.value = text;
  input.focus();
  input.select();
  if (input.value) go(1, true);
}
