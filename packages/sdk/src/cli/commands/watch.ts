import type { LiveMessage, LiveSubscription, MarketSubscription } from '../../client/index.ts'
import {
  printLines,
  textOption,
  toPlainLines,
  UsageError,
  wholeOption,
  type CommandIo,
} from '../../command-line/index.ts'
import { defineCommand, printJson, printNotices, shortTime, type CliContext } from '../command.ts'
import { findContractId } from '../find-contract.ts'
import { gapWords } from '../gap-words.ts'
import { parseMarket } from '../options.ts'
import { WatchBoard, type BoardMarket } from '../watch-board.ts'
import { WatchState } from '../watch-state.ts'

// Max markets on one screen.
const MAX_MARKETS = 40

/** `watch`: a live ladder, or the best prices of several markets. */
export const WATCH = defineCommand({
  name: 'watch',
  args: 'MARKET…',
  mostArgs: MAX_MARKETS,
  about: 'Watch the live book of a market in the terminal, or several markets side by side.',
  more:
    'Several markets, or --contract, show one line per book: best prices and sizes, age, and a gap or why ' +
    'there is no book. q, Esc and Ctrl-C quit. Where standard output is not a terminal, every row is a line, with --json ' +
    'every message, until the markets are resolved. Lost connections are reopened, and missed rows are reported.',
  options: {
    contract: textOption(
      'CONTRACT',
      'All members of a contract: ASSET-WINDOW for the round that is open, such as BTC-15m, or an id.',
    ),
    depth: wholeOption(1000, 'Levels per side of one market, 10 by default.', { short: 'd' }),
    conflate: wholeOption(
      60_000,
      'Max one row per book in this many milliseconds; 50 on a terminal, else every row.',
      { value: 'MS' },
    ),
    count: wholeOption(999_999_999, 'End after this many rows.', { short: 'n' }),
  },
  examples: [
    'priorbook watch venueb:KXBTC15M-26AUG111515-15',
    'priorbook watch venuec:0x5f… --depth 5',
    'priorbook watch venueb:KXBTC15M-26AUG111515-15 venuec:0x5f…',
    'priorbook watch --contract BTC-15m',
    'priorbook watch venueb:KXBTC15M-26AUG111515-15 --json --count 100',
  ],
  async run(context) {
    const { options, io, isJson } = context
    const { count: most = Infinity, depth = 10 } = options
    const isDrawn = io.isTty && !isJson
    const conflate = options.conflate ?? (isDrawn ? 50 : undefined)
    const style: WatchStyle = {
      mode: 'changes',
      number_format: 'string',
      ...(conflate === undefined ? {} : { conflate_ms: conflate }),
    }
    const watch = await openWatch(context, options.contract, style)
    if (isDrawn) await draw(context, watch, depth, most)
    else await print(context, watch, most, conflate)
  },
})

type WatchStyle = Pick<MarketSubscription, 'mode' | 'number_format' | 'conflate_ms'>

/** What is watched, and its state. */
type Watch = {
  readonly subscriptions: readonly LiveSubscription[]
  readonly state: WatchState | WatchBoard
}

// REST reports a wrong name with a hint, and gives titles before the first row.
async function openWatch(
  context: CliContext,
  contract: string | undefined,
  style: WatchStyle,
): Promise<Watch> {
  const { args } = context
  if (contract !== undefined) {
    if (args.length > 0) {
      throw new UsageError('--contract and markets are given', 'Name a contract, or markets.')
    }
    return openContract(context, contract, style)
  }
  const names = [...new Set(args.length === 0 ? [undefined] : args)].map(parseMarket)
  const subscriptions = names.map((name) => ({ ...name, ...style }))
  const records: BoardMarket[] = []
  let alone: WatchState | undefined
  for (const name of names) {
    const { data } = await context.client().market(name).record({}, { signal: context.signal })
    records.push({ ...name, status: data?.status ?? null })
    if (names.length > 1) continue
    alone = new WatchState(`${name.venue}:${name.market_id}`)
    if (data !== null) alone.introduce(data.title, data.status, data.close_time)
  }
  return { subscriptions, state: alone ?? new WatchBoard(`${names.length} markets`, records) }
}

async function openContract(context: CliContext, text: string, style: WatchStyle): Promise<Watch> {
  const id = await findContractId(context, text, undefined)
  const { data, notices } = await context.client().contract(id, {}, { signal: context.signal })
  printNotices(context, notices)
  const { title, closes, withheld, members } = data
  const facts = [
    closes === null ? '' : `closes ${shortTime(closes)} UTC`,
    withheld.length === 0 ? '' : `not in the plan: ${withheld.join(', ')}`,
    title === null ? '' : id,
  ]
  const state = new WatchBoard(id, members, { title: title ?? id, facts })
  return { subscriptions: [{ contract_id: id, ...style }], state }
}

// How long rows may still arrive after the end of their market was announced.
const LAST_ROWS_MS = 500

async function print(
  context: CliContext,
  { subscriptions, state }: Watch,
  most: number,
  conflateMs = 0,
): Promise<void> {
  const { isJson, io, isQuiet } = context
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const graceMs = LAST_ROWS_MS + conflateMs
  let count = 0
  // The end of a market is announced before its last rows, also after a reconnect.
  let done = 0
  let lastNews = 0
  let ending: NodeJS.Timeout | undefined
  try {
    for await (const message of context.client().live(subscriptions, { signal })) {
      // Messages behind this one are kept while it is being written.
      clearTimeout(ending)
      const isRow = state.apply(message, Date.now())
      if (message.type === 'snapshots_done') done++
      else if (message.type === 'disconnected') done = 0
      if (isJson) await printJson(context, message)
      else if (isRow && 'key' in message) await printLines(io, [state.line(message.key)])
      else if (!isQuiet) tell(io, message)
      if (isRow && ++count >= most) return
      if (message.type !== 'heartbeat') lastNews = performance.now()
      if (done < subscriptions.length || !state.isOver) continue
      ending = setTimeout(() => over.abort(), lastNews + graceMs - performance.now())
    }
  } finally {
    clearTimeout(ending)
  }
  if (over.signal.aborted) io.note(`${state.name} is ${state.status}: no more rows will come`)
}

function tell(io: CliContext['io'], message: LiveMessage): void {
  switch (message.type) {
    case 'disconnected':
      io.note(`disconnected: ${message.reason}; again in ${message.retry_ms} ms`)
      break
    case 'hole':
      io.note(
        `missing: rows of ${message.key} from ${message.after_sequence} to ${message.sequence}`,
      )
      break
    case 'resync':
      io.note(
        `left out: rows of ${message.key} after ${message.after_sequence} (${message.reason})`,
      )
      break
    case 'gap':
      io.note(gapWords(message.gap))
      break
    default:
      break
  }
}

const FRAME_MS = 66

async function draw(
  context: CliContext,
  { subscriptions, state }: Watch,
  depth: number,
  most: number,
): Promise<void> {
  const { io, signal } = context
  const quit = new AbortController()
  const screen = openScreen(io, () => quit.abort())
  const show = (): void => screen.show(state.draw(io.size(), depth, io.paint, Date.now()))
  const timer = setInterval(show, FRAME_MS)
  try {
    let count = 0
    const both = AbortSignal.any([signal, quit.signal])
    for await (const message of context.client().live(subscriptions, { signal: both })) {
      if (state.apply(message, Date.now()) && ++count >= most) return
    }
  } finally {
    clearInterval(timer)
    screen.close()
  }
}

/** A full-screen terminal. */
interface Screen {
  show(lines: readonly string[]): void
  /** Restores the terminal. */
  close(): void
}

const ALTERNATE = '\u001B[?1049h'
const NORMAL = '\u001B[?1049l'
const HIDE_CURSOR = '\u001B[?25l'
const SHOW_CURSOR = '\u001B[?25h'
const HOME = '\u001B[H'
const CLEAR_LINE = '\u001B[K'
const CLEAR_BELOW = '\u001B[J'

/** Opens the full screen; q, Esc and Ctrl-C call `onQuit`. An unchanged picture is not redrawn. */
function openScreen(io: CommandIo, onQuit: () => void): Screen {
  const { stdin, stdout } = process
  let last = ''
  const onKey = (data: Buffer): void => {
    const text = data.toString()
    // Esc alone; arrows and the like begin with it too.
    if (text === 'q' || text === 'Q' || text === '\u0003' || text === '\u001B') onQuit()
  }
  const onResize = (): void => {
    last = ''
    stdout.write(`${HOME}${CLEAR_BELOW}`)
  }
  void io.write(`${ALTERNATE}${HIDE_CURSOR}${HOME}${CLEAR_BELOW}`)
  const isRaw = stdin.isTTY
  if (isRaw) {
    stdin.setRawMode(true)
    stdin.resume()
    stdin.on('data', onKey)
  }
  stdout.on('resize', onResize)
  return {
    show(lines) {
      const { rows } = io.size()
      const text = lines.slice(0, rows).map(toPlainLines).join(`${CLEAR_LINE}\r\n`)
      if (text === last) return
      last = text
      stdout.write(`${HOME}${text}${CLEAR_LINE}${CLEAR_BELOW}`)
    },
    close() {
      stdout.off('resize', onResize)
      if (isRaw) {
        stdin.off('data', onKey)
        stdin.setRawMode(false)
        stdin.pause()
      }
      stdout.write(`${SHOW_CURSOR}${NORMAL}`)
    },
  }
}
