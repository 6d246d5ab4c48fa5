import type { LiveMessage, MarketSubscription } from '../../client/index.ts'
import { printLines, toPlainLines, wholeOption, type CommandIo } from '../../command-line/index.ts'
import { defineCommand, printJson, type CliContext } from '../command.ts'
import { gapWords } from '../gap-words.ts'
import { parseMarket } from '../options.ts'
import { WatchState } from '../watch-state.ts'

/** `watch`: a live ladder. */
export const WATCH = defineCommand({
  name: 'watch',
  args: 'MARKET',
  mostArgs: 1,
  about: 'Watch the live book of a market in the terminal.',
  more:
    'q, Esc and Ctrl-C quit. Where standard output is not a terminal, every row is a line, with --json ' +
    'every message, until the market is resolved. Lost connections are reopened, and missed rows are reported.',
  options: {
    depth: wholeOption(1000, 'Levels per side, 10 by default.', { short: 'd' }),
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
    'priorbook watch venueb:KXBTC15M-26AUG111515-15 --json --count 100',
  ],
  async run(context) {
    const { args, options, io, isJson } = context
    const name = parseMarket(args[0])
    const { count: most = Infinity, depth = 10 } = options
    const isDrawn = io.isTty && !isJson
    const conflate = options.conflate ?? (isDrawn ? 50 : undefined)
    const subscription: MarketSubscription = {
      ...name,
      mode: 'changes',
      number_format: 'string',
      ...(conflate === undefined ? {} : { conflate_ms: conflate }),
    }
    const state = new WatchState(`${name.venue}:${name.market_id}`)
    // REST reports a wrong name with a hint, and gives the title before the first row.
    const { data } = await context.client().market(name).record({}, { signal: context.signal })
    if (data !== null) state.introduce(data.title, data.status, data.close_time)
    if (isDrawn) await draw(context, subscription, state, depth, most)
    else await print(context, subscription, state, most)
  },
})

// How long rows may still arrive after the end of their market was announced.
const LAST_ROWS_MS = 500

async function print(
  context: CliContext,
  subscription: MarketSubscription,
  state: WatchState,
  most: number,
): Promise<void> {
  const { isJson, io, isQuiet } = context
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const graceMs = LAST_ROWS_MS + (subscription.conflate_ms ?? 0)
  let count = 0
  // The end of a market is announced before its last rows, also after a reconnect.
  let isThere = false
  let lastNews = 0
  let ending: NodeJS.Timeout | undefined
  try {
    for await (const message of context.client().live(subscription, { signal })) {
      // Messages behind this one are kept while it is being written.
      clearTimeout(ending)
      const isRow = state.apply(message, Date.now())
      if (message.type === 'snapshots_done') isThere = true
      else if (message.type === 'disconnected') isThere = false
      if (isJson) await printJson(context, message)
      else if (isRow && 'key' in message) await printLines(io, [state.line(message.key)])
      else if (!isQuiet) tell(io, message)
      if (isRow && ++count >= most) return
      if (message.type !== 'heartbeat') lastNews = performance.now()
      if (!isThere || !state.isOver) continue
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
  subscription: MarketSubscription,
  state: WatchState,
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
    for await (const message of context.client().live(subscription, { signal: both })) {
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
