import { amount, flag, setting, text, texts, whole, word, type Setting } from './setting.ts'

/**
 * The configuration of `priorbook-server`, one file, every key also by environment
 * (`venueb.tokensPerSecond` is `PRIORBOOK_VENUEB_TOKENS_PER_SECOND`). `docs/operate/configuration.md` is
 * compared with it by a test.
 */
const SETTINGS = {
  data: setting(text(), 'data', 'The folder that holds journal and tape.'),
  recorder: setting(
    text(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
    'r1',
    'The name of this recorder; of two that record one venue the lower one comes first.',
  ),
  upstream: setting(
    word(['emulator', 'live', 'none']),
    'emulator',
    'What is recorded: the emulator, the real venues, or nothing.',
  ),
  role: setting(
    word(['capture', 'api', 'all']),
    'all',
    'What this process does: record, serve, or both.',
  ),
  store: setting(
    text(),
    '',
    'What is served: the tape of the data folder (empty), or files:DIR, downloaded tape files.',
  ),
  api: {
    host: setting(text(), '127.0.0.1', 'Where the interface listens.'),
    port: setting(whole(0, 65_535), 8780, 'Its port; 0 takes any free one.'),
    workers: setting(
      whole(0, 256),
      0,
      'How many processes read and answer; 0 takes the cores that recording leaves.',
    ),
    cacheMb: setting(
      whole(1, 65_536),
      32,
      'Memory for decoded chunks, in MB for each of them; 32 hold 500,000 observations.',
    ),
    corsOrigin: setting(
      text(),
      '',
      'The origin whose pages may read answers in a browser; empty for none.',
    ),
    plans: setting(
      text(),
      '',
      'A file of plans; empty takes plans.json of the data folder, if there is one.',
    ),
  },
  ops: {
    host: setting(text(), '127.0.0.1', 'Where the status page and the metrics listen.'),
    port: setting(whole(0, 65_535), 9464, 'Their port; 0 takes any free one.'),
  },
  log: {
    level: setting(
      word(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      'info',
      'The lowest level that is logged.',
    ),
  },
  emulator: {
    seed: setting(whole(), 1, 'The same seed gives the same markets.'),
    speed: setting(amount(1, 300), 1, 'How many times faster than life the emulated venues run.'),
  },
  venuea: {
    enabled: setting(flag(), true, 'Whether venue A is recorded.'),
    rest: setting(
      text(),
      'https://api.binance.com/sapi/v1/w3w/wallet/prediction',
      'The base of its REST interface.',
    ),
    ws: setting(text(), 'wss://api.binance.com/sapi/wss', 'The address of its socket.'),
    apiKey: setting(text(), '', 'The API key; without one A is not recorded.'),
    apiSecret: setting(text(), '', 'The secret that signs requests.'),
    assets: setting(texts(), ['BTC', 'ETH', 'BNB'], 'The underlying assets that are recorded.'),
    callsPerMinute: setting(whole(1), 60, 'The quota of REST calls.'),
  },
  venueb: {
    enabled: setting(flag(), true, 'Whether venue B is recorded.'),
    rest: setting(
      text(),
      'https://api.elections.kalshi.com/trade-api/v2',
      'The base of its REST interface.',
    ),
    ws: setting(
      text(),
      'wss://api.elections.kalshi.com/trade-api/ws/v2',
      'The address of its socket.',
    ),
    keyId: setting(text(), '', 'The key id; without one B is polled.'),
    privateKeyFile: setting(
      text(),
      '',
      'A file with the RSA private key (PEM) that signs requests.',
    ),
    series: setting(
      texts(),
      ['KXBTC15M', 'KXETH15M', 'KXBTCD', 'KXETHD'],
      'The series whose markets are recorded.',
    ),
    tokensPerSecond: setting(whole(10), 200, 'The read budget of the account (Basic 200).'),
  },
  venuec: {
    enabled: setting(flag(), true, 'Whether venue C is recorded.'),
    gamma: setting(text(), 'https://gamma-api.polymarket.com', 'The base of its catalogue.'),
    clob: setting(text(), 'https://clob.polymarket.com', 'The base of its book interface.'),
    ws: setting(
      text(),
      'wss://ws-subscriptions-clob.polymarket.com/ws/market',
      'The address of its market channel.',
    ),
    assets: setting(
      texts(),
      ['BTC', 'ETH', 'SOL', 'XRP'],
      'The underlying assets that are recorded.',
    ),
    windows: setting(texts(), ['5m', '15m'], 'The windows of up/down markets that are recorded.'),
  },
} as const

/** The whole configuration with every value set. */
export type Config = Values<typeof SETTINGS>

/** One value of the configuration: its path, its variable, and what is known of it. */
export type ConfigKey = Setting<unknown> & {
  readonly path: readonly string[]
  readonly variable: string
}

/** Every value of the configuration, in the order of its settings. */
export function configKeys(settings: Group = SETTINGS, path: string[] = []): ConfigKey[] {
  return Object.entries(settings).flatMap(([name, part]) => {
    const here = [...path, name]
    return isSetting(part)
      ? { ...part, path: here, variable: toVariable(here) }
      : configKeys(part, here)
  })
}

type Group = { readonly [name: string]: Setting<unknown> | Group }
type Values<T> =
  T extends Setting<infer Value> ? Value : { readonly [Name in keyof T]: Values<T[Name]> }

function isSetting(part: Setting<unknown> | Group): part is Setting<unknown> {
  return 'must' in part
}

function toVariable(path: readonly string[]): string {
  const words = path.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`))
  return `PRIORBOOK_${words.join('_').toUpperCase()}`
}
