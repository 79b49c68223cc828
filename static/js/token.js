// Sign-in and join links have their token in the fragment, which browsers never send. It is moved to the form, and
// removed from the address before anyone can copy it there.
import { $ } from './dom.js';

// If sign-in comes first, no name is needed: the account has one.
const first = (form) => {
  form.querySelector('[data-anonymous]')?.remove();
  const go = form.querySelector('[data-go-on]');
  go.textContent = go.dataset.goOn;
};
// For an invalid token, only the error is shown.
const over = (form, look) => {
  for (const e of form.children) e.hidden = e !== look && e.tagName !== 'H1';
  look.className = 'note bad';
  look.setAttribute('role', 'alert');
};
// Opening another link with the same path does not reload the page.
addEventListener('hashchange', () => {
  if (location.hash.length > 20) location.reload();
});
const field = $('input[name=token]');
const token = location.hash.slice(1);
if (field && token) takeToken();

function takeToken() {
  history.replaceState(null, '', location.pathname + location.search);
  field.value = token;
  const line = field.closest('[data-token-line]');
  if (line) line.hidden = true;
  const form = field.form;
  if (form.dataset.send === 'now') form.requestSubmit();
  const look = form.querySelector('[data-look]');
  if (look) {
    fetch(form.action, { method: 'POST', body: new URLSearchParams({ token, look: '1' }) })
      .then(async (r) => {
        if (r.headers.get('Sign-In')) first(form);
        if (r.ok || r.status === 403) look.textContent = await r.text();
        if (r.status === 403) over(form, look);
      })
      .catch(() => {}); // sending the form shows the error
  }
}
