// Sign-in and join links carry their token in the fragment, which browsers never send. It goes into the form here, and out
// of the address before it can be copied from there.
import { $ } from './dom.js';

// Where one signs in first, no name is asked for: the account has one.
const first = (form) => {
  form.querySelector('[data-anonymous]')?.remove();
  const go = form.querySelector('[data-go-on]');
  go.textContent = go.dataset.goOn;
};
// An invalid token needs no name: only the error stays.
const over = (form, look) => {
  for (const e of form.children) e.hidden = e !== look && e.tagName !== 'H1';
  look.className = 'note bad';
  look.setAttribute('role', 'alert');
};
// A link that is opened where another one was is no new page for a browser.
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
      .catch(() => {}); // sending the form says what is wrong
  }
}
