// Push messages: subscribes and unsubscribes this device. The server lists the devices.
import { $, post, scriptAddress } from './dom.js';

const box = $('#push');
if (box) showDevices();

function showDevices() {
  const button = $('#push-on');
  const state = $('#push-state');
  for (const form of box.querySelectorAll('[data-push-here]')) form.addEventListener('submit', unsubscribe);
  if (!button) return; // the server's key is locked
  const here = !!box.querySelector('[data-push-here]');
  const say = (text) => {
    state.textContent = text;
  };
  const lack = whatLacks();
  if (lack) say(lack);
  else if (here && Notification.permission !== 'granted')
    say('This device is on the list, but its browser no longer allows notifications. Allow them to get them again.');
  else if (!here) say('Off on this device.');
  button.hidden = !!lack || (here && Notification.permission === 'granted');
  button.addEventListener('click', async () => {
    button.setAttribute('aria-disabled', 'true');
    const wrong = await subscribe(box.dataset.key).catch(explain);
    button.removeAttribute('aria-disabled');
    if (wrong) say(wrong);
    else location.reload();
  });
}

// whatLacks returns why this browser can't get push messages; '' when it can.
function whatLacks() {
  if (!window.isSecureContext)
    return 'Push notifications work only at https addresses and localhost. Open ahphub at one of these.';
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window))
    return "This browser doesn't support push notifications. On an iPhone or iPad, add ahphub to the Home Screen and open it there.";
  if (Notification.permission === 'denied')
    return "Notifications from this address are blocked. Allow them in the browser's site settings, then reload this page.";
  return '';
}

async function subscribe(key) {
  if ((await Notification.requestPermission()) !== 'granted')
    return whatLacks() || 'The browser did not allow notifications. Try again and allow them.';
  await navigator.serviceWorker.register(scriptAddress('/service-worker'));
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe(); // it may belong to another person, or to an older key
  const s = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = s.toJSON();
  const wrong = await post('/settings/notifications/push', new URLSearchParams({ endpoint, ...keys }));
  if (wrong) await s.unsubscribe();
  return wrong;
}

// explain describes a failed subscription: usually the push service is unreachable.
const explain = (e) =>
  e.name === 'NotAllowedError'
    ? 'The browser did not allow push notifications. Check its settings, then try again.'
    : "The browser can't reach its push service. Check the connection and the browser's settings, then try again.";

// unsubscribe unsubscribes the browser; the form informs the server.
async function unsubscribe(e) {
  e.preventDefault();
  try {
    const worker = await navigator.serviceWorker?.getRegistration('/');
    await (await worker?.pushManager?.getSubscription())?.unsubscribe();
  } catch {
    // the server stops sending anyway
  }
  e.target.submit();
}
