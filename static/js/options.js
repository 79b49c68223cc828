// The folded options of a new session: the summary shows their values, and they open for fields
// that the browser refuses.
import { $, $$ } from './dom.js';

// describe returns a field's value in words.
function describe(field) {
  if (field.type === 'radio') return field.nextElementSibling.firstElementChild.textContent;
  return field.selectedOptions?.[0].textContent ?? field.value;
}

document.addEventListener('change', (e) => {
  const more = e.target.closest?.('.more-options');
  if (!more) return;
  const fields = $$('input:is(:checked, :not([type="radio"])), select', more);
  const set = fields.filter((field) => field.checkVisibility() && describe(field));
  $('[data-set]', more).replaceChildren(
    ...set.map((field) => {
      const said = document.createElement('span');
      said.className = field.closest('.check.bad') ? 'set bad' : 'set';
      said.textContent = describe(field);
      return said;
    }),
  );
});

document.addEventListener(
  'invalid',
  (e) => {
    const more = e.target.closest?.('.more-options');
    if (more) more.open = true;
  },
  true,
);
