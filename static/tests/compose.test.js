import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksForCompletion, fits, makeOutbox, matchNames, startingText, unsent, withTyped } from '../js/compose.js';

// server answers each post when the test says so.
function server() {
  const posted = [];
  const answers = [];
  return {
    posted,
    post: (m) => {
      posted.push(m);
      return new Promise((done) => answers.push(done));
    },
    answer: async (wrong = '') => {
      answers.shift()(wrong);
      for (let i = 0; i < 5; i++) await null;
    },
  };
}

test('messages go out one after the other, in their order', async () => {
  const s = server();
  const outbox = makeOutbox({ post: s.post, giveBack: assert.fail, changed() {} });
  for (const m of ['one', 'two', 'three']) outbox.send(m);
  assert.deepEqual(s.posted, ['one']);
  await s.answer();
  assert.deepEqual(s.posted, ['one', 'two']);
  outbox.send('four');
  await s.answer();
  await s.answer();
  assert.deepEqual(s.posted, ['one', 'two', 'three', 'four']);
  await s.answer();
  assert.deepEqual(outbox.waiting, []);
});

test('what is queued behind a failed message is given back with it, and nothing of it is sent', async () => {
  const s = server();
  const back = [];
  const outbox = makeOutbox({ post: s.post, giveBack: (list, wrong) => back.push([list, wrong]), changed() {} });
  for (const m of ['one', 'two', 'three']) outbox.send(m);
  await s.answer();
  await s.answer('No connection');
  assert.deepEqual(back, [[['two', 'three'], 'No connection']]);
  assert.deepEqual(s.posted, ['one', 'two']);
  outbox.send('two');
  assert.deepEqual(s.posted, ['one', 'two', 'two']);
});

test('the page is told of each change, before and after', async () => {
  const s = server();
  const seen = [];
  const outbox = makeOutbox({ post: s.post, giveBack() {}, changed: () => seen.push(outbox.waiting.length) });
  outbox.send('one');
  await s.answer();
  assert.deepEqual(seen, [1, 0]);
});

test('a failed message comes before what was typed meanwhile', () => {
  assert.equal(withTyped('lost', ''), 'lost');
  assert.equal(withTyped('lost', '  \n'), 'lost');
  assert.equal(withTyped('lost', 'typed'), 'lost\n\ntyped');
});

test('the composer begins with its draft, and a quote joins it once', () => {
  assert.equal(startingText('draft', '', false), 'draft');
  assert.equal(startingText('draft', 'given', false), 'given');
  assert.equal(startingText('', '> quote', true), '> quote');
  assert.equal(startingText('draft\n', '> quote', true), 'draft\n\n> quote');
  assert.equal(startingText('draft\n\n> quote', '> quote', true), 'draft\n\n> quote');
});

test('of the messages that were on their way, those that arrived are not sent again', () => {
  const messages = [
    { text: 'a ', id: '1' },
    { text: 'b', id: '2' },
    { text: 'c', id: '3' },
  ];
  assert.deepEqual(unsent(messages, ['a', ' c\n']), [{ text: 'b', id: '2' }]);
  assert.deepEqual(unsent([], ['a']), []);
  assert.deepEqual(unsent(['as an older version stored it'], []), []);
});

test('a slash at the start and an at sign after a space are completed', () => {
  for (const text of ['/', '/rev', '@', 'see @src/ma']) assert.ok(asksForCompletion(text), text);
  for (const text of ['', 'a/b', '/review now', 'me@example', 'see @src now'])
    assert.ok(!asksForCompletion(text), text);
});

test('names match from their beginning, whatever their script, and not within a word', () => {
  const names = ['Ana', 'Anatole Fix', 'Ben', 'Élodie', 'Ο Νίκος'];
  assert.deepEqual(matchNames('hello @an', names, 6), { from: 7, names: ['Ana', 'Anatole Fix'] });
  assert.deepEqual(matchNames('@Anatole F', names, 6).names, ['Anatole Fix']);
  assert.deepEqual(matchNames('@é', names, 6).names, ['Élodie']);
  assert.deepEqual(matchNames('@', names, 2).names, ['Ana', 'Anatole Fix']);
  assert.deepEqual(matchNames('mail@an', names, 6).names, []);
  assert.deepEqual(matchNames('@Ana', names, 6).names, ['Anatole Fix']);
  assert.deepEqual(matchNames('no one', names, 6), { from: 6, names: [] });
});

test('ten files of 700 KB together fit a message', () => {
  assert.ok(fits([{ size: 700 * 1024 }]));
  assert.ok(!fits([{ size: 700 * 1024 }, { size: 1 }]));
  assert.ok(fits(Array(10).fill({ size: 1 })));
  assert.ok(!fits(Array(11).fill({ size: 1 })));
});
