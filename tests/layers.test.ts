import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

// The table of allowed imports. A folder may import itself and what stands beside it; nothing else.
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'sdk/domain': [],
  'sdk/tape': ['sdk/domain'],
  'sdk/journal': ['sdk/domain'],
  // Commands, options, help and progress of every program (Node only).
  'sdk/command-line': ['sdk/domain'],
  'sdk/parquet': ['sdk/tape'],
  'sdk/wire': ['sdk/tape', 'sdk/domain'],
  'sdk/client': ['sdk/wire', 'sdk/tape', 'sdk/domain'],
  'sdk/replay': ['sdk/client', 'sdk/wire', 'sdk/tape', 'sdk/domain'],
  // Files of other tools, made of a replay.
  'sdk/convert': ['sdk/replay', 'sdk/parquet', 'sdk/wire', 'sdk/tape', 'sdk/domain'],
  // Its tables are also Parquet.
  'sdk/backtest': ['sdk/replay', 'sdk/client', 'sdk/parquet', 'sdk/wire', 'sdk/tape', 'sdk/domain'],
  // Tools, resources and prompts for models.
  'sdk/mcp': ['sdk/client', 'sdk/wire', 'sdk/domain'],
  // Rules of alerts: checked, measured and fired alike by the service and the command line.
  'sdk/alerts': ['sdk/wire', 'sdk/tape', 'sdk/domain'],
  'sdk/cli': [
    'sdk/alerts',
    'sdk/command-line',
    'sdk/mcp',
    'sdk/backtest',
    'sdk/convert',
    'sdk/replay',
    'sdk/client',
    'sdk/wire',
    'sdk/tape',
    'sdk/domain',
  ],
  'sdk/index.ts': ['sdk/client', 'sdk/wire', 'sdk/domain'],
  'service/lib': ['sdk/domain'],
  'service/config': ['sdk/domain', 'service/lib', 'service/venues'],
  'service/journal': ['sdk/domain', 'sdk/journal', 'service/lib', 'service/objects'],
  'service/venues': ['sdk/domain', 'sdk/tape', 'service/lib'],
  // Buckets and folders that keep files by name.
  'service/objects': ['sdk/domain', 'service/lib'],
  'service/store': ['sdk/domain', 'sdk/tape', 'service/lib', 'service/objects'],
  // Reads what the SDK wrote; the engines beside it know nothing of the wire.
  'service/store/files': [
    'sdk/domain',
    'sdk/tape',
    'sdk/wire',
    'sdk/replay',
    'service/lib',
    'service/store',
  ],
  // Merges the data folders of several recorders: below the store for its internals, above the
  // recorder for the notes in its journals.
  'service/store/embedded/merge': [
    'sdk/domain',
    'sdk/tape',
    'sdk/journal',
    'service/lib',
    'service/journal',
    'service/venues',
    'service/recorder',
    'service/store',
  ],
  // Rows of several streams with their gaps, for pages, downloads, replays and live resume.
  'service/rows': ['sdk/domain', 'sdk/tape', 'service/lib', 'service/store'],
  'service/live': [
    'sdk/domain',
    'sdk/tape',
    'sdk/wire',
    'service/lib',
    'service/store',
    'service/rows',
  ],
  // Ticks of markets are those that the backtester trades on.
  'service/recorder': [
    'sdk/backtest',
    'sdk/domain',
    'sdk/tape',
    'sdk/journal',
    'service/lib',
    'service/journal',
    'service/venues',
    'service/store',
  ],
  // Derives rows again from journals and recordings: import, rebuild, audit, backfill.
  'service/derive': [
    'sdk/domain',
    'sdk/tape',
    'sdk/journal',
    'service/lib',
    'service/journal',
    'service/venues',
    'service/recorder',
    'service/store',
  ],
  // A tape that several machines share: above the store for its copies, above the API for its keys.
  'service/cluster': [
    'sdk/domain',
    'service/lib',
    'service/venues',
    'service/store',
    'service/derive',
    'service/api',
  ],
  // The recorder and the API do not know each other.
  // Executions charge fees by the formulas of the backtester.
  // The tools for models ask the routes through the client.
  'service/api': [
    'sdk/alerts',
    'sdk/backtest',
    'sdk/client',
    'sdk/mcp',
    'sdk/convert',
    'sdk/domain',
    'sdk/parquet',
    'sdk/replay',
    'sdk/tape',
    'sdk/wire',
    'service/lib',
    'service/store',
    'service/rows',
    'service/live',
    'service/proofs',
  ],
  // Signs what the store sealed, in the words of the wire.
  'service/proofs': ['sdk/domain', 'sdk/tape', 'sdk/wire', 'service/lib', 'service/store'],
  // Evaluates rules on committed rows and delivers what they found; routes see its rules alone.
  'service/alerts': [
    'sdk/alerts',
    'sdk/backtest',
    'sdk/domain',
    'sdk/tape',
    'sdk/wire',
    'service/lib',
    'service/store',
    'service/rows',
    'service/live',
    'service/api',
  ],
  // Writes what downloads hold, day by day.
  'service/lake': [
    'sdk/domain',
    'sdk/wire',
    'service/lib',
    'service/objects',
    'service/store',
    'service/rows',
    'service/api',
  ],
  'service/retention': [
    'sdk/domain',
    'service/config',
    'service/journal',
    'service/lib',
    'service/objects',
    'service/store',
  ],
  // Shows what runs; of the API it knows the keys.
  'service/ops': [
    'sdk/command-line',
    'sdk/domain',
    'service/lib',
    'service/venues',
    'service/store',
    'service/recorder',
    'service/retention',
    'service/cluster',
    'service/api',
  ],
  'service/commands': [
    'sdk/command-line',
    'sdk/domain',
    'sdk/tape',
    'sdk/journal',
    'service/lib',
    'service/config',
    'service/journal',
    'service/venues',
    'service/recorder',
    'service/derive',
    'service/store',
    'service/store/files',
    'service/store/embedded/merge',
    'service/ops',
    'service/lake',
    'service/objects',
    'service/retention',
    'service/proofs',
    'service/alerts',
    'service/api',
    'service/cluster',
  ],
  'service/main.ts': ['sdk/command-line', 'sdk/domain', 'service/lib', 'service/commands'],
  'emulator/world': ['sdk/domain', 'emulator/core'],
  'emulator/faults': ['sdk/domain', 'emulator/world'],
  'emulator/core': ['sdk/domain', 'emulator/world', 'emulator/faults'],
  'emulator/venues': ['sdk/domain', 'emulator/core', 'emulator/world', 'emulator/faults'],
  'emulator/playback': [
    'sdk/domain',
    'sdk/journal',
    'emulator/core',
    'emulator/world',
    'emulator/faults',
    'emulator/venues',
  ],
  'emulator/emulator.ts': [
    'sdk/domain',
    'emulator/core',
    'emulator/world',
    'emulator/faults',
    'emulator/venues',
  ],
  'emulator/index.ts': [
    'emulator/core',
    'emulator/world',
    'emulator/faults',
    'emulator/venues',
    'emulator/playback',
    'emulator/emulator.ts',
  ],
  'emulator/main.ts': [
    'sdk/command-line',
    'sdk/domain',
    'emulator/faults',
    'emulator/venues',
    'emulator/playback',
    'emulator/emulator.ts',
  ],
  // The explorer is one more client: of the SDK it sees what every visitor's program sees.
  'web/model': ['sdk/backtest', 'sdk/client', 'sdk/wire', 'sdk/domain'],
  // One script that the service serves without a build.
  'web/docs': [],
  'web/app': ['sdk/client', 'web/model'],
  'web/session': ['sdk/client', 'sdk/wire', 'sdk/domain', 'web/app', 'web/model'],
  'web/ui': ['sdk/client', 'sdk/wire', 'sdk/domain', 'web/app', 'web/model', 'web/session'],
  'web/pages': [
    'sdk/client',
    'sdk/wire',
    'sdk/domain',
    'web/app',
    'web/model',
    'web/session',
    'web/ui',
  ],
  'web/app.tsx': ['web/app', 'web/ui', 'web/pages'],
  'web/main.tsx': ['web/app', 'web/app.tsx'],
}

// The same inside the API, by its folders and files.
const ALLOWED_IN_API: Readonly<Record<string, readonly string[]>> = {
  'route.ts': [],
  'members.ts': [],
  'cursor.ts': ['route.ts'],
  auth: ['route.ts'],
  http: ['route.ts', 'auth'],
  pages: ['route.ts'],
  markets: ['route.ts', 'pages'],
  books: ['route.ts', 'markets', 'http', 'pages'],
  bulk: ['route.ts', 'markets', 'pages'],
  execution: ['route.ts', 'markets', 'pages'],
  contracts: ['route.ts', 'markets', 'pages', 'books'],
  panels: ['route.ts', 'markets', 'books', 'bulk'],
  replay: ['route.ts', 'members.ts', 'markets', 'pages', 'books'],
  stream: ['route.ts', 'members.ts', 'auth', 'http', 'markets', 'contracts', 'replay'],
  docs: ['route.ts', 'auth', 'stream'],
  web: ['http'],
  // Gives out keys.
  signup: ['auth', 'http'],
  routes: [
    'route.ts',
    'auth',
    'markets',
    'pages',
    'books',
    'bulk',
    'execution',
    'contracts',
    'panels',
  ],
  'app.ts': [
    'mcp',
    'signup',
    'route.ts',
    'cursor.ts',
    'auth',
    'http',
    'bulk',
    'routes',
    'stream',
    'docs',
    'web',
  ],
  mcp: ['http'],
  'server.ts': ['app.ts', 'certificate.ts', 'http', 'stream'],
  'certificate.ts': [],
}

// Of these a folder may know the types, which are gone at run time, and nothing else.
const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = {
  'service/ops': [
    'service/venues',
    'service/store',
    'service/recorder',
    'service/retention',
    'service/cluster',
  ],
  'service/live': ['service/store', 'sdk/wire'],
  'emulator/world': ['emulator/core'],
  'emulator/core': ['emulator/world'],
}

// Packages of others, by the folders that may use them; of the SDK only the tools for models use one.
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'sdk/mcp': ['@modelcontextprotocol/sdk'],
  'service/lib': ['@redis/client', 'valibot'],
  // Signs requests to object storage.
  'service/objects': ['aws4fetch'],
  // Rows of Iceberg manifests in Avro.
  'service/lake': ['avsc'],
  // Speaks the protocol of PostgreSQL.
  'service/cluster': ['pg'],
  // Optional: reads Parquet files of one's own.
  'sdk/backtest': ['hyparquet'],
  'service/config': ['valibot'],
  'service/recorder': ['valibot'],
  'service/venues': ['valibot', 'ws'],
  'service/api': [
    'apache-arrow',
    'find-my-way',
    'hyparquet',
    'light-my-request',
    'negotiator',
    'valibot',
    'ws',
  ],
  // Optional: those of OpenTelemetry, loaded where something is traced.
  'service/ops': [
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/exporter-trace-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
    'prom-client',
  ],
  'service/commands': ['pino'],
  'emulator/core': ['ws'],
  'emulator/playback': ['ws'],
  'web/app': ['@preact/signals', 'preact'],
  'web/session': ['@preact/signals'],
  'web/ui': ['@preact/signals', 'preact', 'uplot'],
  'web/pages': ['@preact/signals', 'preact'],
  'web/main.tsx': ['preact'],
}

// Runtime-neutral code: a browser must be able to run it.
const NEUTRAL = [
  'sdk/domain',
  'sdk/tape',
  'sdk/wire',
  'sdk/client',
  'sdk/replay',
  'sdk/backtest',
  'sdk/alerts',
  'sdk/index.ts',
  'web/model',
  'web/docs',
  'web/app',
  'web/session',
  'web/ui',
  'web/pages',
  'web/app.tsx',
  'web/main.tsx',
]
const NODE_ONLY = /-node\.ts$/

const root = join(import.meta.dirname, '..')
const IMPORT = /(?:^|\n)\s*(?:import|export)\s(type\s)?[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g

/** The folder of the table that a file of the packages belongs to, such as `service/store`. */
function layerOf(file: string): string | undefined {
  const match = /^packages\/(\w+)\/src\/(store\/files|store\/embedded\/merge|[^/]+)/.exec(file)
  return match === null ? undefined : `${match[1]}/${match[2]}`
}

type Import = { readonly specifier: string; readonly isType: boolean }

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, type, specifier, dynamic]) => ({
    specifier: (specifier ?? dynamic)!,
    isType: type !== undefined,
  }))
}

/** The file that a relative import names, from the root of the checkout. */
function pathOf(file: string, specifier: string): string {
  return relative('.', normalize(join(dirname(file), specifier)))
}

function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return layerOf(pathOf(file, specifier))
  const match = /^@priorbook\/sdk\/([\w-]+)/.exec(specifier)
  return match === null ? undefined : `sdk/${match[1]}`
}

/** The package of somebody else that an import names. */
function packageOf(specifier: string): string | undefined {
  if (/^(\.|node:|@priorbook\/)/.test(specifier)) return undefined
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)![0]
}

const isTest = (file: string): boolean => /\.(test|contract|testing|bench)\.tsx?$/.test(file)
const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter(
  (file) => !isTest(file),
)

describe('the direction of imports', () => {
  it('knows every folder of the packages', () => {
    expect(files.length).toBeGreaterThan(40)
    const layers = new Set(files.map(layerOf))
    expect(layers).toEqual(new Set(Object.keys(ALLOWED)))
  })

  it('is the one of the table', () => {
    const wrong = files.flatMap((file) => {
      const own = layerOf(file)!
      return importsOf(file)
        .map(({ specifier }) => targetOf(file, specifier))
        .filter((target) => target !== undefined && target !== own)
        .filter((target) => !ALLOWED[own]!.includes(target!))
        .map((target) => `${file} imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  it('is the one of its own table inside the API', () => {
    const partOf = (path: string): string | undefined =>
      /^packages\/service\/src\/api\/([^/]+)/.exec(path)?.[1]
    const inApi = files.filter((file) => partOf(file) !== undefined)
    expect(new Set(inApi.map(partOf))).toEqual(new Set(Object.keys(ALLOWED_IN_API)))
    const wrong = inApi.flatMap((file) => {
      const own = partOf(file)!
      return importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => partOf(pathOf(file, specifier)))
        .filter((part) => part !== undefined && part !== own)
        .filter((part) => !ALLOWED_IN_API[own]!.includes(part!))
        .map((part) => `${file} imports api/${part}`)
    })
    expect(wrong).toEqual([])
  })

  it('imports only types where only types are allowed', () => {
    const wrong = files.flatMap((file) => {
      const bare = TYPES_ONLY[layerOf(file)!] ?? []
      return importsOf(file)
        .filter(
          ({ isType, specifier }) => !isType && bare.includes(targetOf(file, specifier) ?? ''),
        )
        .map(({ specifier }) => `${file} imports more than types of ${specifier}`)
    })
    expect(wrong).toEqual([])
  })

  it('reaches the store only through its contract and its entries', () => {
    const contract = ['store.ts', 'parity-checks.ts']
    const engines = ['embedded/open.ts', 'embedded/shared/copy.ts', 'embedded/merge/merge.ts']
    const entries = [...contract, ...engines, 'files/open.ts']
    const allowed = new Set(entries.map((entry) => `packages/service/src/store/${entry}`))
    const isStore = (path: string): boolean => path.startsWith('packages/service/src/store/')
    const wrong = files
      .filter((file) => !isStore(file))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => pathOf(file, specifier))
          .filter((path) => isStore(path) && !allowed.has(path))
          .map((path) => `${file} imports ${path}`),
      )
    expect(wrong).toEqual([])
  })

  it('shows the API, the live hub and the row engine only the reading side of the store', () => {
    const writing = new Set(['Store', 'StoreWriter', 'StoreAdmin', 'AppendBatch'])
    const wrong = files
      .filter((file) => ['service/api', 'service/live', 'service/rows'].includes(layerOf(file)!))
      .flatMap((file) => {
        const text = readFileSync(join(root, file), 'utf8')
        const imports = [...text.matchAll(/import (?:type )?\{([^}]*)\} from '([^']+)'/g)]
        return imports
          .filter(([, , specifier]) => specifier!.includes('/store/'))
          .flatMap(([, names]) => names!.split(',').map((name) => name.replace('type', '').trim()))
          .filter((name) => writing.has(name) || name.startsWith('open'))
          .map((name) => `${file} imports ${name}`)
      })
    expect(wrong).toEqual([])
  })

  it('keeps venues from knowing each other', () => {
    const venueOf = (path: string): string | undefined =>
      /^packages\/service\/src\/venues\/(\w+)\//.exec(path)?.[1]
    const wrong = files.flatMap((file) => {
      const own = venueOf(file)
      if (own === undefined) return []
      return importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => pathOf(file, specifier))
        .filter((path) => path.includes('/venues/') && ![own, 'capture'].includes(venueOf(path)!))
        .map((path) => `${file} imports ${path}`)
    })
    expect(wrong).toEqual([])
  })

  it('lets packages of others in only where the table says so', () => {
    const wrong = files.flatMap((file) => {
      const allowed = PACKAGES[layerOf(file)!] ?? []
      return importsOf(file)
        .flatMap(({ specifier }) => packageOf(specifier) ?? [])
        .filter((name) => !allowed.includes(name))
        .map((name) => `${file} imports ${name}`)
    })
    expect(wrong).toEqual([])
  })

  it('keeps Node out of what a browser runs', () => {
    const wrong = files
      .filter((file) => NEUTRAL.includes(layerOf(file)!) && !NODE_ONLY.test(file))
      .filter((file) => importsOf(file).some(({ specifier }) => specifier.startsWith('node:')))
    expect(wrong).toEqual([])
  })
})
