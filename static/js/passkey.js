// Passkeys: the host sends the browser's options, and gets the authenticator's answer. Without WebAuthn, or
// without this script, the forms stay hidden; the other ways to sign in work.
import { $$ } from './dom.js';

if (window.PublicKeyCredential?.parseRequestOptionsFromJSON) offerPasskeys();

function offerPasskeys() {
  const post = async (path, body) => {
    const res = await fetch(path, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', 'X-Fragment': '1' },
    });
    if (res.ok) return res;
    const said = res.headers.get('Content-Type')?.startsWith('text/plain') ? await res.text() : '';
    throw new Error(said || 'The server refused the passkey. Try again in a minute.');
  };
  const make = async (form, options) => {
    const credential = await navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey),
    });
    await post(form.action, JSON.stringify({ name: form.elements.name.value, credential: credential.toJSON() }));
    location.assign('/account');
  };
  const signIn = async (form, options) => {
    const credential = await navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey),
    });
    await post(form.action, JSON.stringify(credential.toJSON()));
    location.assign(form.dataset.next);
  };
  for (const form of $$('[data-passkey]')) {
    form.hidden = false;
    const problem = form.querySelector('[role=alert]');
    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      problem.hidden = true;
      try {
        const options = await (await post(form.dataset.begin)).json();
        await (form.dataset.passkey === 'make' ? make : signIn)(form, options);
      } catch (err) {
        problem.textContent =
          err.name === 'NotAllowedError' ? 'No passkey was used. Try again or sign in another way.' : err.message;
        problem.hidden = false;
      }
    });
  }
}
