// Reads all events of a server with the npm client `eventsource`, which connects again by itself and says what it saw last.
// In between is a proxy that breaks each connection after some bytes.
import net from 'node:net';

const { EventSource } = await import(process.env.EVENTSOURCE);
const base = new URL(process.argv[2]);
const MOST_BYTES = 150_000;

let connections = 0;
const proxy = net.createServer((client) => {
    connections += 1;
    let sent = 0;
    const server = net.connect(Number(base.port), base.hostname);
    const end = () => {
        client.destroy();
        server.destroy();
    };
    client.on('error', end).on('close', end);
    server.on('error', end).on('close', end);
    client.pipe(server);
    server.on('data', (bytes) => {
        // Not at the end of an event: the client has to throw half of one away.
        const room = MOST_BYTES - sent;
        sent += bytes.length;
        if (bytes.length < room) return void client.write(bytes);
        client.write(bytes.subarray(0, Math.max(room, 0)), end);
    });
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));

const { last_id: last } = await (await fetch(new URL('/v1/events', base))).json();
const [epoch, count] = last.split('-');
// A client hears only the types that it names: all that the description has.
const document = await (await fetch(new URL('/openapi.json', base))).json();
const described = document.components.schemas.FeedEvent.properties.type.description;
const types = [...described.matchAll(/`([a-z_]+)`/g)].map(([, type]) => type).concat('reset');
const seen = [];
const source = new EventSource(`http://127.0.0.1:${proxy.address().port}/v1/events?after=${epoch}-0&limit=100`);
await new Promise((resolve, reject) => {
    for (const type of types) {
        source.addEventListener(type, (event) => {
            const data = JSON.parse(event.data);
            if (type === 'reset' || event.lastEventId !== data.id || data.type !== type) {
                reject(new Error(`not the event that it says it is: ${type} ${event.lastEventId} ${event.data}`));
            }
            seen.push(data.seq);
            if (data.id === last) resolve();
        });
    }
    source.addEventListener('error', (event) => {
        if (source.readyState === EventSource.CLOSED) reject(new Error(`the client gave up: ${event.message}`));
    });
});
source.close();
proxy.close();
const wrong = seen.findIndex((seq, at) => seq !== at + 1);
if (wrong >= 0 || seen.length !== Number(count)) {
    throw new Error(`${seen.length} of ${count} events; the first that is wrong is ${seen[wrong]} at ${wrong}`);
}
if (connections < 4) throw new Error(`the connection broke only ${connections - 1} times`);
console.log(`interop: eventsource read ${seen.length} events, each once, over ${connections} connections`);
process.exit(0);
