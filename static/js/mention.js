// Mentions: an @ in a comment or a message suggests the names of the session's visitors.
import { matchNames } from './compose.js';

const names = JSON.parse(document.body.dataset.people || '[]');
if (names.length) offerNames();

function offerNames() {
  let list = null;
  let box = null;
  let from = 0;
  let at = 0;
  const close = () => {
    list?.remove();
    list = null;
    box?.removeAttribute('aria-activedescendant');
  };
  const offer = (el) => {
    close();
    const match = matchNames(el.value.slice(0, el.selectionStart), names, 6);
    const fit = match.names;
    if (!fit.length) return;
    box = el;
    from = match.from;
    at = 0;
    list = document.createElement('ul');
    list.className = 'names card';
    list.id = 'names';
    list.setAttribute('role', 'listbox');
    list.setAttribute('aria-label', 'People');
    fit.forEach((n, i) => {
      const li = document.createElement('li');
      li.id = `name-${i}`;
      li.setAttribute('role', 'option');
      li.textContent = n;
      li.addEventListener('mousedown', (e) => {
        e.preventDefault();
        at = i;
        take();
      });
      list.append(li);
    });
    el.after(list);
    show();
  };
  const show = () => {
    for (const [i, li] of [...list.children].entries()) li.setAttribute('aria-selected', String(i === at));
    box.setAttribute('aria-activedescendant', `name-${at}`);
  };
  const take = () => {
    const name = list.children[at].textContent;
    const end = box.selectionStart;
    const el = box;
    close();
    el.setRangeText(`${name} `, from, end, 'end');
    el.dispatchEvent(new Event('input', { bubbles: true }));
    el.focus();
  };
  const mine = (el) => el.matches?.('textarea[data-mentions], .thr textarea');
  document.addEventListener('input', (e) => {
    if (mine(e.target)) offer(e.target);
  });
  document.addEventListener('focusout', close);
  document.addEventListener(
    'keydown',
    (e) => {
      if (!list || e.target !== box || e.isComposing) return;
      if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
        at = (at + (e.key === 'ArrowDown' ? 1 : -1) + list.children.length) % list.children.length;
        show();
      } else if ((e.key === 'Enter' && !e.ctrlKey && !e.metaKey && !e.shiftKey) || e.key === 'Tab') take();
      else if (e.key === 'Escape') close();
      else return;
      e.preventDefault();
      e.stopImmediatePropagation();
    },
    true,
  );
}
