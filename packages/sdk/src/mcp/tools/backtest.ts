import { described, FLAG, objectOf, TEXT, type JsonSchema } from '../../wire/index.ts'
import { answerOf, defineTool, type Tool } from '../tool.ts'

/** How a backtest ended: its exit status and what it printed. */
type BacktestOutput = { readonly status: number | null; readonly text: string }

/** Runs `priorbook backtest` with these arguments, ends it after a time, and gives what it printed. */
export type BacktestRunner = (
  args: readonly string[],
  limits: { readonly seconds: number; readonly signal: AbortSignal },
) => Promise<BacktestOutput>

const SECONDS: JsonSchema<number> = {
  type: 'integer',
  minimum: 1,
  maximum: 600,
  default: 120,
  description: 'The run is stopped after so many seconds, 120 where absent.',
}

const MAX_TEXT = 20_000

/** Runs a strategy file of this machine over markets of the service. */
export function backtestTool(run: BacktestRunner): Tool {
  return defineTool({
    name: 'run_backtest',
    title: 'Run a backtest',
    description:
      'Run a strategy file of this machine over recorded markets and give the printed summary: what would have happened, how sure it is, and which orders were refused.',
    isLocal: true,
    input: objectOf(
      {
        strategy: described(TEXT, 'The path of a module below the working folder.'),
        markets: described(TEXT, 'VENUE:ID,VENUE:ID,… as find_markets gives them.'),
        from: described(TEXT, 'From this received time on.'),
        to: described(TEXT, 'Up to this received time.'),
        params: described(TEXT, 'Parameters of the strategy, such as jump=600,hold=60.'),
        seconds: SECONDS,
      },
      { optional: ['from', 'to', 'params', 'seconds'] },
    ),
    output: answerOf({
      is_done: described(FLAG, 'False where it failed or was stopped.'),
      summary: described(TEXT, 'What the command printed.'),
    }),
    async run({ strategy, markets, from, to, params, seconds = 120 }, { signal }) {
      const options = Object.entries({ markets, from, to, params })
      const given = options.flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      )
      const { status, text } = await run([...given, '--', strategy], { seconds, signal })
      return {
        is_done: status === 0,
        summary: text.slice(0, MAX_TEXT),
        notices: [],
        more:
          text.length > MAX_TEXT ? 'The output was cut: run `priorbook backtest` yourself.' : null,
      }
    },
  })
}
