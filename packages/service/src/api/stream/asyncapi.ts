import {
  SCHEMA_VERSION,
  STREAM_CLOSE_CODES,
  STREAM_KEY_PROTOCOL,
  STREAM_MESSAGE_SCHEMAS,
  STREAM_PATH,
  STREAM_PROTOCOL,
  STREAM_REQUEST_SCHEMAS,
} from '@priorbook/sdk/wire'

type Json = Readonly<Record<string, unknown>>

/** What the stream says of itself. */
export const STREAM_ABOUT = `Live and recorded rows over one WebSocket at \`${STREAM_PATH}\`: JSON text, one message a frame, with the same rows as REST. Rows go out once they are durable.

The key comes as \`Authorization: Bearer\`, as the second of the subprotocols \`${STREAM_PROTOCOL}\` and \`${STREAM_KEY_PROTOCOL}<API_KEY>\`, or in a first message \`auth\` within 5 seconds. \`/v3/demo/stream\` needs none.

Each row carries its own \`sequence\` and the \`previous_sequence\` that was sent: where they do not follow each other, rows were conflated or left out, and a \`resync\` says so. After a reconnect \`resume\` asks for every row after the last one. A reader that does not read is first left out rows and then closed. Close codes: ${Object.entries(
  STREAM_CLOSE_CODES,
)
  .map(([word, code]) => `${code} \`${word}\``)
  .join(', ')}.`

/** The AsyncAPI 3 document of the stream, made from the schemas of its messages. */
export function toAsyncApi(): Json {
  const requests = Object.keys(STREAM_REQUEST_SCHEMAS)
  const messages = Object.keys(STREAM_MESSAGE_SCHEMAS)
  const ref = (name: string): Json => ({ $ref: `#/channels/stream/messages/${name}` })
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Priorbook stream',
      version: SCHEMA_VERSION,
      description: STREAM_ABOUT,
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      here: {
        host: '{host}',
        protocol: 'wss',
        description: 'The server that serves this document; ws where it is served by http.',
        variables: { host: { description: 'Host and port.', default: 'localhost' } },
        security: [{ $ref: '#/components/securitySchemes/key' }],
      },
    },
    channels: {
      stream: {
        address: STREAM_PATH,
        description: 'Everything goes over one connection.',
        messages: Object.fromEntries([
          ...requests.map((op) => [requestName(op), toMessage(op, STREAM_REQUEST_SCHEMAS)]),
          ...messages.map((type) => [type, toMessage(type, STREAM_MESSAGE_SCHEMAS)]),
        ]),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      ask: {
        action: 'receive',
        summary: 'What a client may send.',
        channel: { $ref: '#/channels/stream' },
        messages: requests.map((op) => ref(requestName(op))),
      },
      tell: {
        action: 'send',
        summary: 'What the server sends.',
        channel: { $ref: '#/channels/stream' },
        messages: messages.map(ref),
      },
    },
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of this service; never in an address.',
        },
      },
    },
  }
}

// A request and a message may have the same name.
function requestName(op: string): string {
  return `${op}_request`
}

function toMessage(name: string, schemas: Readonly<Record<string, Json>>): Json {
  const payload = schemas[name]!
  return { name, title: name, summary: payload['description'], payload }
}
