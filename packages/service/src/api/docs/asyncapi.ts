import {
  SchemaComponents,
  SCHEMA_VERSION,
  STREAM_CLOSE_CODES,
  STREAM_KEY_PROTOCOL,
  STREAM_MESSAGE_SCHEMAS,
  STREAM_PATH,
  STREAM_PROTOCOL,
  STREAM_REQUEST_SCHEMAS,
  type DocumentPart,
  type JsonSchema,
} from '@priorbook/sdk/wire'

/** The description of the stream in its documents. */
export const STREAM_ABOUT = `Live and recorded rows over one WebSocket at \`${STREAM_PATH}\`: JSON text, one message per frame, with the same rows as REST. Rows are sent once they are durable.

The key comes as \`Authorization: Bearer\`, as the second of the subprotocols \`${STREAM_PROTOCOL}\` and \`${STREAM_KEY_PROTOCOL}<API_KEY>\`, or in a first message \`auth\` within 5 seconds. \`/v3/demo/stream\` needs none.

Each row carries its own \`sequence\` and the \`previous_sequence\` that was sent: where they are not consecutive, rows were conflated, or skipped with a \`resync\` message. After a reconnect, \`resume\` asks for every row after the last one. For a client that reads too slowly the server first skips rows, then closes the connection. Close codes: ${Object.entries(
  STREAM_CLOSE_CODES,
)
  .map(([word, code]) => `${code} \`${word}\``)
  .join(', ')}.`

/** The AsyncAPI 3 document of the stream, generated from the schemas of its messages. */
export function toAsyncApi(): DocumentPart {
  const requests = Object.keys(STREAM_REQUEST_SCHEMAS)
  const messages = Object.keys(STREAM_MESSAGE_SCHEMAS)
  const schemas = new SchemaComponents()
  const ref = (name: string): DocumentPart => ({ $ref: `#/channels/stream/messages/${name}` })
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
        description: 'The server of this document; ws when the document is served over http.',
        variables: { host: { description: 'Host and port.', default: 'localhost' } },
        security: [{ $ref: '#/components/securitySchemes/key' }],
      },
    },
    channels: {
      stream: {
        address: STREAM_PATH,
        description: 'Everything goes over one connection.',
        messages: Object.fromEntries([
          ...requests.map((op) => [
            requestName(op),
            toMessage(op, STREAM_REQUEST_SCHEMAS, schemas),
          ]),
          ...messages.map((type) => [type, toMessage(type, STREAM_MESSAGE_SCHEMAS, schemas)]),
        ]),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      ask: {
        action: 'receive',
        summary: 'Messages that a client may send.',
        channel: { $ref: '#/channels/stream' },
        messages: requests.map((op) => ref(requestName(op))),
      },
      tell: {
        action: 'send',
        summary: 'Messages that the server sends.',
        channel: { $ref: '#/channels/stream' },
        messages: messages.map(ref),
      },
    },
    components: {
      schemas: schemas.all(),
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

function toMessage(
  name: string,
  messages: Readonly<Record<string, JsonSchema>>,
  schemas: SchemaComponents,
): DocumentPart {
  const schema = messages[name]!
  return { name, title: name, summary: schema['description'], payload: schemas.refer(schema) }
}
