// Completions in the composer: a / at the start suggests the agent's commands, an @ people and files. The field
// points to a listbox: arrows choose, Enter or Tab accepts, Esc closes. Its keys take precedence over the composer's.
import { asksForCompletion, matchNames } from './compose.js';
import { $ } from './dom.js';

const field = $('#message');
const form = field?.form;
if (form?.dataset.complete) complete();

function complete() {
  const names = JSON.parse(document.body.dataset.people || '[]');
  let list = null;
  let items = [];
  let at = 0;
  let asked = 0;
  let timer;
  field.setAttribute('aria-autocomplete', 'list');
  field.setAttribute('aria-haspopup', 'listbox');
  const said = document.createElement('span'); // the number of options, for screen readers
  said.className = 'sr-only';
  said.setAttribute('role', 'status');
  form.append(said);
  const close = () => {
    asked++;
    clearTimeout(timer);
    list?.remove();
    list = null;
    said.textContent = '';
    field.removeAttribute('aria-controls');
    field.removeAttribute('aria-activedescendant');
  };
  const people = (text) => {
    const { from, names: found } = matchNames(text, names, 5);
    return found.map((n) => ({ label: n, hint: 'person', text: `${n} `, from, to: text.length }));
  };
  async function offer() {
    const text = field.value.slice(0, field.selectionStart);
    const turn = ++asked;
    const found = people(text);
    if (asksForCompletion(text)) {
      const r = await fetch(
        `${form.dataset.complete}?${new URLSearchParams({ text: text.slice(-4000), at: Math.min(text.length, 4000) })}`,
        { headers: { 'X-Fragment': 'complete' } },
      ).catch(() => null);
      const skip = Math.max(0, text.length - 4000);
      if (turn !== asked) return;
      if (r?.ok) for (const o of await r.json()) found.push({ ...o, from: o.from + skip, to: o.to + skip });
    }
    if (turn !== asked) return;
    found.length && document.activeElement === field ? show(found) : close();
  }
  function show(found) {
    items = found;
    at = 0;
    if (!list) {
      list = document.createElement('ul');
      list.id = 'offers';
      list.className = 'offers card';
      list.setAttribute('role', 'listbox');
      list.setAttribute('aria-label', 'Completions');
      form.append(list);
      field.setAttribute('aria-controls', 'offers');
    }
    list.replaceChildren(
      ...items.map((o, i) => {
        const li = document.createElement('li');
        li.id = `offer-${i}`;
        li.setAttribute('role', 'option');
        for (const [text, name] of [
          [o.label, 'mono'],
          [o.hint, 'dim cut'],
        ])
          if (text) {
            const s = document.createElement('span');
            s.className = name;
            s.textContent = text;
            li.append(s);
          }
        li.addEventListener('pointerdown', (e) => {
          e.preventDefault();
          at = i;
        });
        li.addEventListener('click', () => take());
        return li;
      }),
    );
    said.textContent = items.length === 1 ? '1 completion' : `${items.length} completions`;
    choose(0);
  }
  function choose(i) {
    at = (i + items.length) % items.length;
    for (const [n, li] of [...list.children].entries()) li.setAttribute('aria-selected', String(n === at));
    list.children[at].scrollIntoView({ block: 'nearest' });
    field.setAttribute('aria-activedescendant', `offer-${at}`);
  }
  function take() {
    const o = items[at];
    close();
    field.focus();
    field.setRangeText(o.text, o.from, o.to, 'end');
    if (o.file)
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'file', value: o.file }));
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  field.addEventListener('input', (e) => {
    if (e.isComposing) return;
    const text = field.value.slice(0, field.selectionStart);
    if (!asksForCompletion(text) && !people(text).length) {
      if (list || timer) close();
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(offer, 60);
  });
  field.addEventListener('compositionend', () => field.dispatchEvent(new Event('input')));
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (e) => {
    if (!list || e.isComposing) return;
    if (e.key === 'ArrowDown') choose(at + 1);
    else if (e.key === 'ArrowUp') choose(at - 1);
    else if (
      (e.key === 'Tab' && !e.shiftKey) ||
      (e.key === 'Enter' && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey)
    )
      take();
    else if (e.key === 'Escape') close();
    else return;
    e.preventDefault();
    e.stopImmediatePropagation();
  });
  form.addEventListener('cleared', () => {
    close();
    for (const h of form.querySelectorAll('input[name=file]')) h.remove();
  });
}
