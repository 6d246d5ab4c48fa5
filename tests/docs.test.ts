import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  DATASET_FLOORS,
  ERROR_CODES,
  FLAGS,
  GAP_REASONS,
  printMicros,
  VENUE_IDS,
  VENUES,
  VIOLATIONS,
} from '../packages/sdk/src/domain/index.ts'
import { PROBLEMS, STREAM_CLOSE_CODES, STREAM_ERRORS } from '../packages/sdk/src/wire/index.ts'
import { DEFAULT_PLANS } from '../packages/service/src/api/auth/plans.ts'
import { INTERVALS } from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES } from '../packages/service/src/api/markets/addresses.ts'
import { ROUTES } from '../packages/service/src/api/routes/index.ts'
import { configKeys } from '../packages/service/src/config/index.ts'
import { optionLines, usageOf } from '../packages/sdk/src/command-line/index.ts'
import { loadCommands } from '../packages/service/src/main.ts'
import { METRICS } from '../packages/service/src/ops/metrics.ts'
import { parseNote } from '../packages/service/src/recorder/notes.ts'
import { CHUNK_ROWS } from '../packages/service/src/store/embedded/seal.ts'
import { SILENT_MS } from '../packages/service/src/venues/capture/link.ts'
import { QUIET_SHARE, SILENT_INTERVALS } from '../packages/service/src/venues/venuea/periods.ts'
import { STATUS_WORDS, TRADING_WORDS } from '../packages/service/src/venues/venuea/resolution.ts'
import { OUTAGE_INTERVALS } from '../packages/service/src/venues/venueb/polling.ts'
import { QUIET_MS } from '../packages/service/src/venues/venueb/books.ts'
import { LOST_MS, SILENT_BOOK_MS } from '../packages/service/src/venues/venueb/books.ts'
import { FIRST_BOOK_MS, SILENT_TOKEN_MS } from '../packages/service/src/venues/venuec/token.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** What stands under a heading. */
function sectionOf(file: string, heading: string): string {
  const section = read(file)
    .split(/^## /m)
    .find((part) => part.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`${file} has no heading ${heading}`)
  return section
}

/** The words in the first cells of the table under a heading; a cell may hold several. */
function cells(file: string, heading: string): string[] {
  const rows = sectionOf(file, heading).matchAll(/^\| (`[^|]+`) \|/gm)
  return [...rows].flatMap(([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, word]) => word!))
}

/** The rows of the table under a heading: what follows the first cell, by the first cell. */
function pairs(file: string, heading: string): Record<string, string> {
  const rows = sectionOf(file, heading).matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)
  return Object.fromEntries([...rows].map((match) => [match[1]!, match[2]!]))
}

/** The names of a page's headings in links. */
function placesOf(file: string): string[] {
  const headings = read(file).matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, text]) =>
    text!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

describe('the docs say what the code says', () => {
  it('lists every error code with its sentence', () => {
    expect(pairs('docs/reference/errors.md', 'Error codes')).toEqual(ERROR_CODES)
  })

  it('names files of the format tape as downloads are named', () => {
    const files = '{*.md,docs/**/*.md,packages/*/README.md,packages/sdk/src/cli/commands/*.ts}'
    for (const file of globSync(files, { cwd: root })) {
      // `FILE.proof.tape` is what `--proof` writes beside a file.
      const names = [...read(file).matchAll(/[\w*-]+(?:\.proof)?\.tape\b/g)].map(([name]) => name)
      const wrong = names.filter((name) => !name.endsWith('.proof.tape') && name !== 'data.tape')
      expect([file, wrong]).toEqual([file, []])
    }
  })

  it('lists every violation, gap reason and flag', () => {
    expect(pairs('docs/reference/errors.md', 'Row checks')).toEqual(VIOLATIONS)
    expect(pairs('docs/reference/gaps.md', 'Reasons')).toEqual(GAP_REASONS)
    expect(cells('docs/reference/gaps.md', 'Flags')).toEqual(Object.keys(FLAGS))
  })

  it('lists every problem of the interface with its status and sentence', () => {
    const problems = Object.entries(PROBLEMS).map(([code, { status, title }]) => [
      code,
      `${status} | ${title}`,
    ])
    expect(pairs('docs/reference/errors.md', 'API problems')).toEqual(Object.fromEntries(problems))
  })

  it('lists every error, close code and limit of the stream', () => {
    expect(pairs('docs/reference/errors.md', 'Stream errors')).toEqual(STREAM_ERRORS)
    const codes = sectionOf('docs/reference/stream.md', 'Errors and close codes').matchAll(
      /^\| (\d+) \| `(\w+)` \|/gm,
    )
    expect(Object.fromEntries([...codes].map(([, code, word]) => [word!, Number(code)]))).toEqual(
      STREAM_CLOSE_CODES,
    )
    const limits = DEFAULT_PLANS.map(({ name, stream }) => {
      const { connections, subscriptions, instruments, replays } = stream
      const numbers = [connections, subscriptions, instruments, replays]
      return [name, numbers.map((number) => number.toLocaleString('en-US')).join(' | ')]
    })
    expect(pairs('docs/reference/stream.md', 'Limits')).toEqual(Object.fromEntries(limits))
  })

  it('names every route, interval and plan of the interface', () => {
    const text = read('docs/reference/rest.md')
    const bases = VENUE_ADDRESSES.map(({ market }) => market)
    const missing = ROUTES.map(({ address }) => {
      const base = bases.find((one) => address === one || address.startsWith(`${one}/`))
      return base === undefined ? address : address.replace(base, '{market}')
    }).filter((address) => !text.includes(`\`${address}\``))
    expect(missing).toEqual([])
    for (const name of Object.keys(INTERVALS)) expect(text).toContain(`\`${name}\``)
    expect(cells('docs/reference/rest.md', 'Keys and plans')).toEqual(
      DEFAULT_PLANS.map(({ name }) => name),
    )
  })

  it('gives the words of venue A and the decimals of every venue', () => {
    const text = read('docs/reference/normalization.md')
    const own = [...STATUS_WORDS].filter(([, life]) => life !== 'by_trading_status')
    const words = [...own.map(([word]) => word), ...TRADING_WORDS.keys()]
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([])
    const facts = VENUE_IDS.map((venue) => VENUES[venue])
    const line = (of: 'priceDecimals' | 'sizeDecimals'): string =>
      facts.map((fact) => fact[of]).join(' | ')
    expect(text).toContain(`price decimals kept | ${line('priceDecimals')} |`)
    expect(text).toContain(`size decimals kept | ${line('sizeDecimals')} |`)
  })

  it('gives every floor of coverage', () => {
    const text = sectionOf('docs/reference/coverage.md', 'Floors')
    for (const { assets, windows, start, yearInferred, backfilled } of DATASET_FLOORS) {
      if (start === undefined) continue
      const cell = [
        assets!.join(', '),
        windows?.join(', ') ?? 'all',
        printMicros(start).slice(0, 10),
        yearInferred === true ? 'inferred' : 'stated',
        backfilled === true ? 'yes' : 'no',
      ]
      expect(text).toContain(`| ${cell.join(' | ')} |`)
    }
  })

  it('says how many rows a chunk has', () => {
    const rows = `${CHUNK_ROWS.toLocaleString('en-US')} rows`
    for (const file of ['docs/formats/tape.md', 'ARCHITECTURE.md'])
      expect(read(file)).toContain(rows)
  })

  it('names every venue', () => {
    for (const venue of VENUE_IDS) expect(read('README.md')).toContain(`\`${venue}\``)
  })

  it('shows every command as the program does', async () => {
    const text = read('docs/operate/commands.md')
    for (const command of await loadCommands()) {
      expect(text).toContain(`priorbook-server ${usageOf(command)} [OPTIONS]\n`)
      expect(text).toContain(command.about)
      expect(text).toContain(optionLines(command.options))
    }
  })

  it('lists every key of the configuration with its variable, default and sentence', () => {
    const keys = configKeys().map((key) => {
      const fallback = JSON.stringify(key.default)
      return [key.path.join('.'), `\`${key.variable}\` | \`${fallback}\` | ${key.description}`]
    })
    expect(keys.length).toBeGreaterThan(20)
    expect(pairs('docs/operate/configuration.md', 'Keys')).toEqual(Object.fromEntries(keys))
  })

  it('lists every metric with its labels and its sentence', () => {
    const rows = METRICS.map(({ name, help, labels }) => {
      const listed = labels.map((label) => `\`${label}\``).join(', ')
      return [name, `${listed === '' ? '–' : listed} | ${help}`]
    })
    expect(rows.length).toBeGreaterThan(10)
    expect(pairs('docs/operate/operations.md', 'Metrics')).toEqual(Object.fromEntries(rows))
  })

  it('describes every note of the journal', () => {
    const sources = ['recorder/notes.ts', 'venues/capture/contract.ts'].map((file) =>
      read(`packages/service/src/${file}`),
    )
    const notes = sources.flatMap((text) =>
      [...text.matchAll(/readonly note: '(\w+)'/g)].map(([, note]) => note!),
    )
    expect(cells('docs/formats/journal.md', 'Notes').sort()).toEqual(notes.sort())
    // A note without fields is known, though it may be refused for the fields that it lacks.
    const unknown = notes.filter((note) => codeOf(() => parseNote(toBytes({ note }))) === UNKNOWN)
    expect(unknown).toEqual([])
    expect(codeOf(() => parseNote(toBytes({ note: 'other' })))).toBe(UNKNOWN)
  })

  it('describes every kind of request', () => {
    for (const id of VENUE_IDS) {
      const file = `packages/service/src/venues/${id}/normalize.ts`
      const [, cases] = read(file).split('switch (request.kind)')
      const kinds = [...cases!.split('default:')[0]!.matchAll(/case '(\w+)':/g)].map(([, k]) => k!)
      const heading = `Requests of ${VENUES[id].label.replace('Venue', 'venue')}`
      expect(cells('docs/venues/capture.md', heading).sort()).toEqual(kinds.sort())
    }
  })

  it('gives the figures of the watchdogs', () => {
    const seconds = (ms: number): string => `${ms / 1000} s`
    const watchdogs = sectionOf('docs/venues/capture.md', 'Watchdogs')
    for (const figure of [
      `${seconds(SILENT_MS)} without a data frame`,
      `${seconds(QUIET_MS)}: one book is asked for`,
      `${seconds(SILENT_BOOK_MS)} after its subscription`,
      `${OUTAGE_INTERVALS} intervals`,
      `${SILENT_INTERVALS} expected intervals`,
      `${seconds(SILENT_TOKEN_MS)}, or 20 ×`,
    ]) {
      expect(watchdogs).toContain(figure)
    }
    const prose = (heading: string): string =>
      sectionOf('docs/venues/capture.md', heading).replaceAll(/\s+/g, ' ')
    expect(prose('Venue A')).toContain(`quiet for ${QUIET_SHARE}`)
    expect(prose('Venue B')).toContain(`after ${seconds(LOST_MS)} without`)
    expect(prose('Venue C')).toContain(`within ${seconds(FIRST_BOOK_MS)} of`)
  })

  it('has no link that leads nowhere', () => {
    const broken: string[] = []
    for (const file of globSync('{*.md,docs/**/*.md,packages/*/README.md}', { cwd: root })) {
      // Code blocks may hold brackets that are no links.
      const prose = read(file).replaceAll(/^```[\s\S]*?^```/gm, '')
      for (const [, link, place] of prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
        const target = link === '' ? file : join(dirname(file), link!)
        const isThere = existsSync(join(root, target))
        if (!isThere || (place !== undefined && !placesOf(target).includes(place))) {
          broken.push(`${file}: ${link}${place === undefined ? '' : `#${place}`}`)
        }
      }
    }
    expect(broken).toEqual([])
  })

  it('speaks of npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = new Set<string>()
    for (const file of globSync('{*.md,docs/**/*.md,packages/*/README.md}', { cwd: root })) {
      for (const [, name] of read(file).matchAll(/npm run ([\w:-]+)/g)) named.add(name!)
    }
    expect([...named].filter((name) => scripts[name] === undefined)).toEqual([])
  })

  it('gives servers that run on one machine ports of their own', () => {
    const shared: string[] = []
    let blocks = 0
    for (const file of globSync('{*.md,docs/**/*.md}', { cwd: root })) {
      for (const [, block] of read(file).matchAll(/^```sh\n([\s\S]*?)^```$/gm)) {
        const servers = block!.match(/priorbook-server serve .*/g) ?? []
        // Servers on machines of their own need not name a port.
        if (!servers.some((line) => line.includes('-port '))) continue
        blocks++
        for (const [option, usual] of [
          ['--port', '8780'],
          ['--ops-port', '9464'],
        ] as const) {
          const used = servers
            .filter((line) => line.includes('--recorder '))
            .map((line) => new RegExp(`${option} (\\d+)`).exec(line)?.[1] ?? usual)
          if (new Set(used).size < used.length) shared.push(`${file}: ${option}`)
        }
      }
    }
    expect(blocks).toBeGreaterThan(0)
    expect(shared).toEqual([])
  })
})

const UNKNOWN = 'unsupported_format'

function toBytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return (error as { readonly code: string }).code
  }
}
