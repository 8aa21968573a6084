// A watcher: a websocket of @mempool/mempool.js, with the messages that came. LIBRARY is the folder of the library.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.LIBRARY}/`);
const mempoolJS = require('@mempool/mempool.js');

const PATIENCE_MS = 60_000;

// Connects to the API at this URL: the socket, the library's calls, and a way to wait for messages.
export async function watch(url) {
    const { host } = new URL(url);
    const { bitcoin } = mempoolJS({ hostname: host, protocol: 'http' });
    const { websocket } = bitcoin;
    const socket = websocket.wsInit();
    const messages = [];
    let wake = () => {};
    socket.addEventListener('message', ({ data }) => {
        messages.push(JSON.parse(data.toString()));
        wake();
    });
    socket.addEventListener('error', ({ message }) => assert.fail(message));
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    // The next message that fits; those before it are left out.
    const next = async (what, fits) => {
        const end = Date.now() + PATIENCE_MS;
        for (;;) {
            while (messages.length > 0) {
                const message = messages.shift();
                if (fits(message)) return message;
            }
            assert.ok(Date.now() < end, `no message with ${what} comes`);
            await new Promise((resolve) => {
                wake = resolve;
                setTimeout(resolve, 1_000);
            });
        }
    };
    const having = (member) => next(member, (message) => member in message);
    return { socket, websocket, next, having, messages };
}

export async function get(url) {
    const answer = await fetch(url);
    assert.equal(answer.status, 200, url);
    return answer.json();
}
