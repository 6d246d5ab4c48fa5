import { describe, expect, it } from 'vitest'
import {
  commandHelp,
  parseOptions,
  programHelp,
  timeOption,
  wholeOption,
  type OptionTable,
} from '../command-line/index.ts'
import { VENUE_IDS } from '../domain/index.ts'
import { COMMON_OPTIONS } from './command.ts'
import { BOOK } from './commands/book.ts'
import { completionScript, SHELLS } from './commands/completion.ts'
import { COMMANDS } from './commands/index.ts'
import { MARKETS } from './commands/markets.ts'
import { PANELS } from './commands/panels.ts'
import { EXIT_CODES } from './errors.ts'
import { createProgram } from './main.ts'
import { parseMarket } from './options.ts'

const PROGRAM = createProgram(new AbortController().signal)
const parse = <Own extends OptionTable>(
  { options }: { readonly options: Own },
  argv: readonly string[],
) => parseOptions({ ...COMMON_OPTIONS, ...options }, argv)

describe('arguments', () => {
  it('are read, long and short', () => {
    const { values, positionals } = parse(BOOK, ['venueb:M', '-d', '5', '--json'])
    expect([values['depth'], values['json'], positionals]).toEqual([5, true, ['venueb:M']])
  })

  it('take values that begin with a dash and a digit', () => {
    const argv = ['BTC-5m', '--at', '-60s,-5m', '-n', '2', '--json']
    const { values, positionals } = parse(PANELS, argv)
    expect([values['at'], values['limit'], values['json'], positionals]).toEqual([
      '-60s,-5m',
      2,
      true,
      ['BTC-5m'],
    ])
    expect(parse(PANELS, ['--at=-1s']).values['at']).toBe('-1s')
    expect(parse(PANELS, ['--', '--at', '-1s']).positionals).toEqual(['--at', '-1s'])
    // After an option without a value it is not one, and neither is a letter.
    expect(() => parse(PANELS, ['--json', '-1'])).toThrow(/-1/)
    expect(() => parse(PANELS, ['--at', '-x'])).toThrow(/--at/)
  })

  it('that are wrong say so, and what would be right', () => {
    expect(() => parse(BOOK, ['--nothing'])).toThrow(/--nothing/)
    expect(() => parse(BOOK, ['--depth'])).toThrow(/--depth/)
    expect(failure(() => parse(MARKETS, ['--venue', 'venuex']))).toMatchObject({
      exit: 'usage',
      hint: `It is one of ${VENUE_IDS.join(', ')}.`,
    })
    const depth = wholeOption(10, '')
    expect(() => depth.read('0', 'depth')).toThrow(/--depth is 0/)
    expect(() => depth.read('1e3', 'depth')).toThrow(/1e3/)
    expect(() => depth.read('11', 'depth')).toThrow(/11/)
  })

  it('that are mistyped are met with the right ones', () => {
    const cases: [string, string | undefined][] = [
      ['--vneue', '--venue'],
      ['--limt', '--limit'],
      ['--categry', '--category'],
      ['--stat', '--status'],
      ['--jso', '--json'],
      ['--frobnicate', undefined],
    ]
    for (const [typed, meant] of cases) {
      const { hint } = failure(() => parse(MARKETS, [typed])) as { hint?: string }
      expect([typed, hint]).toEqual([
        typed,
        meant === undefined ? undefined : `Did you mean ${meant}?`,
      ])
    }
  })

  it('name markets', () => {
    expect(parseMarket('venueb:KX-1/2:3')).toEqual({ venue: 'venueb', market_id: 'KX-1/2:3' })
    expect(parseMarket('venuec/0x5f')).toEqual({ venue: 'venuec', market_id: '0x5f' })
    for (const text of [undefined, '', 'KX-1', 'venuex:1', 'venueb:', ':1']) {
      expect(failure(() => parseMarket(text))).toMatchObject({ exit: 'usage' })
    }
  })

  it('name times', () => {
    const now = Date.UTC(2026, 7, 11, 15)
    const at = timeOption('', () => now)
    const read = (text: string): string | undefined => at.read(text, 'at')
    expect(read('15m')).toBe('2026-08-11T14:45:00.000Z')
    expect(read('-2h')).toBe('2026-08-11T13:00:00.000Z')
    expect(read('2026-08-11')).toBe('2026-08-11T00:00:00.000000Z')
    expect(read('2026-08-11T15:00:00.000001+02:00')).toBe('2026-08-11T13:00:00.000001Z')
    expect(read('1786460400000')).toBe('1786460400000')
    // As tables print them, with less, and as other programs count them.
    expect(read('2026-11-15 23:58:00')).toBe('2026-11-15T23:58:00.000000Z')
    expect(read('2026-11-15 23:58:00.25')).toBe('2026-11-15T23:58:00.250000Z')
    expect(read('2026-11-15 23:58:00 UTC')).toBe('2026-11-15T23:58:00.000000Z')
    expect(read('2026-11-15 23:58')).toBe('2026-11-15T23:58:00.000000Z')
    expect(read('2026-11-15T23:58Z')).toBe('2026-11-15T23:58:00.000000Z')
    expect(read('2026-11-15T23:58+02:00')).toBe('2026-11-15T21:58:00.000000Z')
    expect(read('1786460400')).toBe('1786460400000')
    for (const text of ['2026-11-15 24:58', '2026-11-15 2:58', '178646040', '2026-02-30 10:00']) {
      expect(failure(() => read(text))).toMatchObject({ exit: 'usage' })
    }
    for (const text of ['yesterday', '2026-02-30', '15', '2026-08-11T15:00:00']) {
      expect(failure(() => read(text))).toMatchObject({ exit: 'usage' })
    }
  })
})

describe('help', () => {
  it('shows every command, option and exit status', async () => {
    const text = await programHelp(PROGRAM)
    for (const { about } of COMMANDS) expect(text).toContain(about)
    for (const { about } of Object.values(EXIT_CODES)) expect(text).toContain(about)
    for (const command of COMMANDS) {
      const help = commandHelp(PROGRAM, command)
      expect(command.examples.length).toBeGreaterThan(0)
      for (const option of Object.keys({ ...command.options, ...COMMON_OPTIONS })) {
        expect(help).toContain(`--${option}`)
      }
      for (const example of command.examples) expect(help).toContain(example)
    }
  })

  it('has examples whose options exist', () => {
    for (const command of COMMANDS) {
      for (const example of command.examples) {
        const [program, name, ...rest] = example.split(' ')
        if (program !== 'priorbook' || name !== command.name || example.includes('|')) continue
        expect(() => parse(command, rest)).not.toThrow()
      }
    }
  })

  it('has no short option twice', () => {
    for (const command of COMMANDS) {
      const shorts = Object.values({ ...COMMON_OPTIONS, ...command.options }).flatMap(
        ({ short }) => short ?? [],
      )
      expect(new Set(shorts).size).toBe(shorts.length)
    }
  })
})

describe('completion', () => {
  it.each(SHELLS)('of %s knows every command and its words', (shell) => {
    const script = completionScript(shell, COMMANDS)
    for (const { name, options } of COMMANDS) {
      expect(script).toContain(name)
      for (const option of Object.keys(options)) expect(script).toContain(option)
    }
    expect(script).toContain('venuea venueb venuec')
  })
})

function failure(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
