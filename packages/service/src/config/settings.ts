import {
  amount,
  setting,
  text,
  texts,
  whole,
  word,
  type Setting,
  type SettingGroup,
  type SettingValues,
} from '../lib/setting.ts'
import { SPAN } from '../lib/span.ts'
import { ageSetting, retentionSettings, type RetentionTexts } from './retention.ts'
import { VENUE_DEFINITIONS } from '../venues/registry.ts'

/**
 * The configuration of `priorbook-server`, one file, every key also by environment
 * (`venueb.tokensPerSecond` is `PRIORBOOK_VENUEB_TOKENS_PER_SECOND`). `docs/operate/configuration.md` is
 * compared with it by a test.
 */
const SETTINGS = {
  data: setting(text(), 'data', 'The data folder, with journal and tape.'),
  recorder: setting(
    text(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
    'r1',
    'The name of this recorder; where two record the same venue, the lower name wins.',
  ),
  upstream: setting(
    word(['emulator', 'live', 'none']),
    'emulator',
    'What to record: the emulator, the real venues, or nothing.',
  ),
  role: setting(
    word(['capture', 'api', 'all']),
    'all',
    'What this process does: record, serve, or both.',
  ),
  processes: setting(
    word(['one', 'venue']),
    'one',
    'Where venues are recorded: all in one process, or each in a process of its own, for more messages than one core can take.',
  ),
  standby: setting(
    word(['record', 'wait']),
    'record',
    'What a recorder of a shared tape does while another one writes: record beside it, so that it can go on without a gap, or wait, which takes none of the venues’ quotas.',
  ),
  store: setting(
    text(),
    '',
    'What to serve: the tape of the data folder (empty), the downloaded tape files of a folder (files:DIR), or a tape that several machines share (postgres://…).',
  ),
  redis: setting(
    text(),
    '',
    'The address of a Redis or Valkey server (redis://…) on which API nodes of a shared tape count requests together, and over which commits reach them sooner; empty for none.',
  ),
  api: {
    host: setting(text(), '127.0.0.1', 'The address on which the API listens.'),
    port: setting(whole(0, 65_535), 8780, 'The port of the API; 0 takes any free port.'),
    workers: setting(
      whole(0, 256),
      0,
      'The number of API processes; 0 uses every core except the one that records.',
    ),
    cacheMb: setting(
      whole(1, 65_536),
      32,
      'Memory for decoded chunks per API process, in MB; 32 hold 500,000 observations.',
    ),
    tempMb: setting(
      whole(1, 1_000_000),
      8000,
      'Space in the temporary folder for files that are made before they are sent, such as archives, per API process, in MB.',
    ),
    corsOrigin: setting(
      text(),
      '',
      'The web origin that may call the API from a browser; empty for none.',
    ),
    startKey: setting(
      word(['local', 'off']),
      'local',
      'Whether the explorer gets the key of emulated data by itself: in a browser on this machine, not through a proxy (local), or not at all (off).',
    ),
    signup: setting(
      word(['off', 'on']),
      'off',
      'Whether everyone can get a key of the cheapest plan: by solving a puzzle (on), or not (off).',
    ),
    signupBits: setting(
      whole(1, 40),
      22,
      'How much work a key costs who signs up: 2 to the power of this many hashes, on average; 22 are some seconds.',
    ),
    signupPerMinute: setting(
      whole(1, 60_000),
      10,
      'Requests for keys of one address in a minute, of IPv6 of one network of 64 bits.',
    ),
    signupKeys: setting(
      whole(1, 10_000_000),
      10_000,
      'Working keys of the cheapest plan, however they were made, from which on sign-up gives out no more.',
    ),
    streamDeflate: setting(
      word(['on', 'off']),
      'on',
      'Whether messages of the stream are compressed for clients that ask for it (permessage-deflate).',
    ),
    trustProxy: setting(
      texts(),
      [],
      'Proxies in front of the API, by address or network (10.0.0.0/8): their X-Forwarded-For is believed.',
    ),
    tlsCert: setting(
      text(),
      '',
      'A file with the certificate chain (PEM) to serve HTTPS; empty for HTTP.',
    ),
    tlsKey: setting(text(), '', 'The file with the private key (PEM) of api.tlsCert.'),
    plans: setting(
      text(),
      '',
      'A file with plans; empty uses plans.json of the data folder, if it exists.',
    ),
  },
  alerts: {
    allowNetworks: setting(
      texts(),
      [],
      'Networks that are not public, by address or network (10.0.0.0/8), to which webhooks of alerts may be sent, also by http.',
    ),
    queue: setting(
      whole(1, 1_000_000),
      10_000,
      'Events of an alert that wait at most; beyond, the oldest are given up.',
    ),
    timeoutMs: setting(
      whole(100, 600_000),
      10_000,
      'How long a receiver of alerts may take to answer, in milliseconds.',
    ),
    retryMinMs: setting(
      whole(1, 3_600_000),
      1000,
      'The pause after a first failed delivery, in milliseconds; it doubles with every further one.',
    ),
    retryMaxMs: setting(
      whole(1, 86_400_000),
      300_000,
      'The longest pause between deliveries, in milliseconds.',
    ),
    giveUpMs: setting(
      whole(1000, 604_800_000),
      86_400_000,
      'How long an event is tried before it is given up, in milliseconds.',
    ),
  },
  contracts: {
    file: setting(
      text(),
      '',
      'A file that adds matches of contracts over venues, or refuses them; empty for none.',
    ),
  },
  ops: {
    host: setting(text(), '127.0.0.1', 'The address on which status page and metrics listen.'),
    port: setting(
      whole(0, 65_535),
      9464,
      'The port of status page and metrics; 0 takes any free port.',
    ),
    names: setting(
      texts(),
      [],
      'Names by which requests may call the host of status page and metrics, beside its addresses and localhost.',
    ),
    token: setting(
      text(/^(\S{20,200})?$/),
      '',
      'The token with which operators manage keys on the operators’ port, of 20 to 200 characters; empty for no such pages.',
    ),
  },
  log: {
    level: setting(
      word(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      'info',
      'The lowest level to log.',
    ),
  },
  tracing: {
    export: setting(
      word(['off', 'otlp']),
      'off',
      'Whether requests, commits and polls are traced by OpenTelemetry and sent by OTLP over HTTP; the variables OTEL_… say where.',
    ),
  },
  retention: retentionSettings('of each venue', 'empty for no limit'),
  journal: {
    pack: setting(
      word(['on', 'off']),
      'on',
      'Whether finished files of the journal are packed in the background, to about a quarter of their size.',
    ),
  },
  tape: {
    pack: setting(
      word(['on', 'off']),
      'on',
      'Whether old chunks of the tape are packed in the background, to about nine tenths of their size.',
    ),
    packAfter: setting(
      text(SPAN),
      '7d',
      'How old the rows of a day are when its chunks are packed, such as 30d or 12h.',
    ),
  },
  cold: {
    address: setting(
      text(),
      '',
      'Where old chunks of the tape and old files of the journal go: s3://BUCKET/PREFIX or a folder; empty keeps all in the data folder.',
    ),
    after: setting(
      text(SPAN),
      '1d',
      'How old chunks and files are when they go there, such as 7d or 12h.',
    ),
    keepUnused: setting(
      text(SPAN),
      '30d',
      'How long a file stays there that the tape does not need any more, for backups that may refer to it.',
    ),
    cacheMb: setting(
      whole(1, 10_000_000),
      1000,
      'Space in the data folder for bytes that were read from there, in MB.',
    ),
  },
  proofs: {
    delayMs: setting(
      whole(0, 86_400_000),
      600_000,
      'How long after the end of a UTC day its root is signed, in milliseconds.',
    ),
    age: ageSetting('How long the leaves below signed roots stay'),
  },
  emulator: {
    seed: setting(
      whole(),
      1,
      'The seed of the emulated markets: the same seed gives the same markets.',
    ),
    speed: setting(
      amount(1, 300),
      1,
      'How many times faster than real time the emulated venues run.',
    ),
    changes: setting(
      amount(0.01, 1000),
      5,
      'How many orders an emulated market has each second at speed 1.',
    ),
    breadth: setting(
      text(/^(venue[a-z]:\d+(,venue[a-z]:\d+)*)?$/),
      '',
      'Open markets of many kinds that the emulator has beside the rounds, such as venueb:2000,venuec:1000.',
    ),
  },
} as const

const VENUE_RETENTION = retentionSettings('of this venue', 'empty for the common limit')

// A section for every venue, named by its id.
const SECTIONS = Object.fromEntries(
  Object.entries(VENUE_DEFINITIONS).map(([venue, { settings }]) => [
    venue,
    { ...settings, retention: VENUE_RETENTION },
  ]),
)

/** The whole configuration with every value set. */
export type Config = SettingValues<typeof SETTINGS> & {
  readonly [Venue in keyof typeof VENUE_DEFINITIONS]: SettingValues<
    (typeof VENUE_DEFINITIONS)[Venue]['settings']
  > & { readonly retention: RetentionTexts }
}

/** One setting with its path and its environment variable. */
export type ConfigKey = Setting<unknown> & {
  readonly path: readonly string[]
  readonly variable: string
}

/** Every value of the configuration, in the order of its settings. */
export function configKeys(
  settings: SettingGroup = { ...SETTINGS, ...SECTIONS },
  path: string[] = [],
): ConfigKey[] {
  return Object.entries(settings).flatMap(([name, part]) => {
    const here = [...path, name]
    return isSetting(part)
      ? { ...part, path: here, variable: toVariable(here) }
      : configKeys(part, here)
  })
}

function isSetting(part: Setting<unknown> | SettingGroup): part is Setting<unknown> {
  return 'must' in part
}

function toVariable(path: readonly string[]): string {
  const words = path.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`))
  return `PRIORBOOK_${words.join('_').toUpperCase()}`
}
