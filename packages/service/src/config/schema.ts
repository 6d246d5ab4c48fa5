import { Type, type Static, type TObject, type TProperties } from 'typebox'

/**
 * The configuration of `priorbook-server`, one file, every key also by environment
 * (`venueb.tokensPerSecond` is `PRIORBOOK_VENUEB_TOKENS_PER_SECOND`). `docs/configuration.md` is
 * compared with it by a test.
 */
export const CONFIG_SCHEMA = strict({
  data: Type.String({ default: 'data', description: 'The folder that holds journal and tape.' }),
  recorder: Type.String({
    default: 'r1',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    description:
      'The name of this recorder; of two that record one venue the lower one comes first.',
  }),
  upstream: Type.Union([Type.Literal('emulator'), Type.Literal('live'), Type.Literal('none')], {
    default: 'emulator',
    description: 'What is recorded: the emulator, the real venues, or nothing.',
  }),
  role: Type.Union([Type.Literal('capture'), Type.Literal('api'), Type.Literal('all')], {
    default: 'all',
    description: 'What this process does: record, serve, or both.',
  }),
  store: Type.String({
    default: '',
    description:
      'What is served: the tape of the data folder (empty), or files:DIR, downloaded tape files.',
  }),
  api: strict({
    host: Type.String({
      default: '127.0.0.1',
      description: 'Where the interface listens.',
    }),
    port: Type.Integer({
      default: 8780,
      minimum: 0,
      maximum: 65_535,
      description: 'Its port; 0 takes any free one.',
    }),
    workers: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 256,
      description: 'How many processes read and answer; 0 takes the cores that recording leaves.',
    }),
    cacheMb: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 65_536,
      description:
        'Memory for decoded chunks, in MB for each of them; 32 hold 500,000 observations.',
    }),
    corsOrigin: Type.String({
      default: '',
      description: 'The origin whose pages may read answers in a browser; empty for none.',
    }),
    plans: Type.String({
      default: '',
      description: 'A file of plans; empty takes plans.json of the data folder, if there is one.',
    }),
  }),
  ops: strict({
    host: Type.String({
      default: '127.0.0.1',
      description: 'Where the status page and the metrics listen.',
    }),
    port: Type.Integer({
      default: 9464,
      minimum: 0,
      maximum: 65_535,
      description: 'Their port; 0 takes any free one.',
    }),
  }),
  log: strict({
    level: Type.Union(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((word) =>
        Type.Literal(word),
      ),
      { default: 'info', description: 'The lowest level that is logged.' },
    ),
  }),
  emulator: strict({
    seed: Type.Integer({ default: 1, description: 'The same seed gives the same markets.' }),
    speed: Type.Number({
      default: 1,
      minimum: 1,
      maximum: 300,
      description: 'How many times faster than life the emulated venues run.',
    }),
  }),
  venuea: strict({
    enabled: Type.Boolean({ default: true, description: 'Whether venue A is recorded.' }),
    rest: Type.String({
      default: 'https://api.binance.com/sapi/v1/w3w/wallet/prediction',
      description: 'The base of its REST interface.',
    }),
    ws: Type.String({
      default: 'wss://api.binance.com/sapi/wss',
      description: 'The address of its socket.',
    }),
    apiKey: Type.String({
      default: '',
      description: 'The API key; without one A is not recorded.',
    }),
    apiSecret: Type.String({ default: '', description: 'The secret that signs requests.' }),
    assets: Type.Array(Type.String(), {
      default: ['BTC', 'ETH', 'BNB'],
      description: 'The underlying assets that are recorded.',
    }),
    callsPerMinute: Type.Integer({
      default: 60,
      minimum: 1,
      description: 'The quota of REST calls.',
    }),
  }),
  venueb: strict({
    enabled: Type.Boolean({ default: true, description: 'Whether venue B is recorded.' }),
    rest: Type.String({
      default: 'https://api.elections.kalshi.com/trade-api/v2',
      description: 'The base of its REST interface.',
    }),
    ws: Type.String({
      default: 'wss://api.elections.kalshi.com/trade-api/ws/v2',
      description: 'The address of its socket.',
    }),
    keyId: Type.String({ default: '', description: 'The key id; without one B is polled.' }),
    privateKeyFile: Type.String({
      default: '',
      description: 'A file with the RSA private key (PEM) that signs requests.',
    }),
    series: Type.Array(Type.String(), {
      default: ['KXBTC15M', 'KXETH15M', 'KXBTCD', 'KXETHD'],
      description: 'The series whose markets are recorded.',
    }),
    tokensPerSecond: Type.Integer({
      default: 200,
      minimum: 10,
      description: 'The read budget of the account (Basic 200).',
    }),
  }),
  venuec: strict({
    enabled: Type.Boolean({ default: true, description: 'Whether venue C is recorded.' }),
    gamma: Type.String({
      default: 'https://gamma-api.polymarket.com',
      description: 'The base of its catalogue.',
    }),
    clob: Type.String({
      default: 'https://clob.polymarket.com',
      description: 'The base of its book interface.',
    }),
    ws: Type.String({
      default: 'wss://ws-subscriptions-clob.polymarket.com/ws/market',
      description: 'The address of its market channel.',
    }),
    assets: Type.Array(Type.String(), {
      default: ['BTC', 'ETH', 'SOL', 'XRP'],
      description: 'The underlying assets that are recorded.',
    }),
    windows: Type.Array(Type.String(), {
      default: ['5m', '15m'],
      description: 'The windows of up/down markets that are recorded.',
    }),
  }),
})

/** The whole configuration with every value set. */
export type Config = Static<typeof CONFIG_SCHEMA>

/** One value of the configuration: its path, its variable, its default and its sentence. */
export type ConfigKey = {
  readonly path: readonly string[]
  readonly variable: string
  readonly default: unknown
  readonly description: string
  readonly isList: boolean
  readonly type: 'string' | 'number' | 'boolean'
}

/** Every value of the configuration, in the order of the schema. */
export function configKeys(schema: TObject = CONFIG_SCHEMA, path: string[] = []): ConfigKey[] {
  return Object.entries(schema.properties).flatMap(([name, part]) => {
    const here = [...path, name]
    if ('properties' in part) return configKeys(part as TObject, here)
    const leaf = part as Leaf
    const item = leaf.items ?? leaf
    const type = item.type === 'integer' ? 'number' : (item.type ?? 'string')
    return {
      path: here,
      variable: toVariable(here),
      default: leaf.default,
      description: leaf.description,
      isList: leaf.type === 'array',
      type: type as ConfigKey['type'],
    }
  })
}

type Leaf = {
  readonly type?: string
  readonly items?: { readonly type?: string }
  readonly default: unknown
  readonly description: string
}

function toVariable(path: readonly string[]): string {
  const words = path.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`))
  return `PRIORBOOK_${words.join('_').toUpperCase()}`
}

function strict<P extends TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false })
}
