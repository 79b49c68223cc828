// Keyboard shortcuts; other scripts add theirs. They are off in text fields; a setting turns all of them off.
import { $, $$, store, stored, toast } from './dom.js';

export const keys = {}; // 'x', 'g d' → function
let chord = '';
const areOff = () => stored('keys', true) === 'off';
const go = (href) => {
  if (href) location.assign(href);
};
const tab = (k) => $(`[data-go="${k}"]`)?.href;
Object.assign(keys, {
  '?': () => $('#help')?.showModal(),
  'g h': () => go('/'),
  'g c': () => go(tab('g c')),
  'g d': () => go(tab('g d')),
  'g t': () => go(tab('g t')),
  'g r': () => go(tab('g r')),
  'g a': () => go($('.rail-item .status.need')?.closest('a').href || '/'),
  '/': () => $('input[type=search]')?.focus(),
  z: () => $('[data-pane-toggle]')?.click(),
});
// Esc closes the open menu and returns the focus to its button.
function shutMenu() {
  const m = $$('details.menu[open]').pop();
  if (!m) return false;
  m.open = false;
  $('summary', m).focus();
  return true;
}
document.addEventListener('keydown', (e) => {
  if (e.isComposing) return;
  if ((e.ctrlKey || e.metaKey) && e.key === 'k' && !e.shiftKey) {
    e.preventDefault();
    palette();
    return;
  }
  const t = e.target;
  if (t.closest?.('input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]')) {
    if (e.key === 'Escape' && !shutMenu()) t.blur();
    if (
      e.key === 'Enter' &&
      (e.ctrlKey || e.metaKey) &&
      t.tagName === 'TEXTAREA' &&
      t.form &&
      !t.form.id &&
      !e.defaultPrevented
    ) {
      e.preventDefault();
      t.form.requestSubmit();
    }
    return;
  }
  if (e.key === 'Escape' && shutMenu()) {
    e.preventDefault();
    return;
  }
  if (areOff() || e.ctrlKey || e.metaKey || e.altKey || $('dialog[open], :popover-open')) return;
  const k = chord ? `${chord} ${e.key}` : e.key;
  chord = '';
  if (k === 'g') {
    chord = 'g';
    setTimeout(() => {
      chord = '';
    }, 1500);
    return;
  }
  const f = keys[k];
  if (f) {
    e.preventDefault();
    f(e);
  }
});
document.addEventListener('change', (e) => {
  if (e.target.id === 'keys-on') store('keys', e.target.checked ? '' : 'off', true);
});
if ($('#keys-on')) $('#keys-on').checked = !areOff();

// Ctrl K: sessions, files and commands.
function palette() {
  import('./palette.js').then(
    (m) => m.open(),
    () => toast("Can't reach the server.", true),
  );
}
