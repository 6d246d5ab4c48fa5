import { parseAlertRule, type AlertRule } from '../../alerts/index.ts'
import type { LiveSubscription, PriorbookClient } from '../../client/index.ts'
import {
  flagOption,
  printLines,
  textOption,
  UsageError,
  wholeOption,
  wordOption,
} from '../../command-line/index.ts'
import { ALERT_KINDS, Problem, type AlertJson } from '../../wire/index.ts'
import { AlertFollower } from '../alert-follower.ts'
import { defineCommand, printJson, printTable, shortTime, type CliContext } from '../command.ts'
import { FAMILY_OPTIONS, parseMarket, present } from '../options.ts'

/** `alert`: follows a rule, or has the service send what happens to a webhook. */
export const ALERT = defineCommand({
  name: 'alert',
  args: '[MARKET]',
  mostArgs: 1,
  about: 'Follow a rule on the live stream and print what happens, or have it sent to a webhook.',
  more:
    'A rule names a market, or a family by --venue and --asset or --series. It fires when a value passes --above or ' +
    '--below, and again after it came back by --rearm; never across a gap. With --webhook the rule is created on the ' +
    'service, which goes on watching; the secret that signs deliveries is printed once. Rules of kind edge need a webhook.',
  options: {
    kind: wordOption(ALERT_KINDS, 'What to watch; price by default.', { value: 'KIND' }),
    above: textOption('VALUE', 'Fire when the value rises above this.'),
    below: textOption('VALUE', 'Fire when the value falls below this.'),
    rearm: textOption('VALUE', 'How far the value must come back before the rule fires again.'),
    of: wordOption(['bid', 'ask', 'mid'], 'Of price: which one; mid by default.', {
      value: 'PRICE',
    }),
    side: wordOption(['bid', 'ask'], 'Of depth: which side.', { value: 'SIDE' }),
    within: textOption('VALUE', 'Of depth: only levels this near to the best price.'),
    on: wordOption(['begun', 'ended', 'both'], 'Of gap: which moments.', { value: 'MOMENT' }),
    outcome: textOption('LABEL', 'Only this outcome, where each has a book of its own.'),
    contract: textOption('ID', 'Of edge: the contract.'),
    ...FAMILY_OPTIONS,
    name: textOption('NAME', 'A name for the rule.'),
    webhook: textOption('URL', 'Create the rule on the service, which sends events there.'),
    list: flagOption('List the rules of the key on the service.'),
    delete: textOption('ALERT', 'Delete a rule of the key.'),
    test: textOption('ALERT', 'Send a test event to the webhook of a rule.'),
    deliveries: textOption('ALERT', 'List the events of a rule and how their delivery stands.'),
    count: wholeOption(999_999_999, 'End after this many events.', { short: 'n' }),
  },
  examples: [
    'priorbook alert venueb:KXBTC15M-26AUG111515-15 --above 0.9 --rearm 0.05',
    'priorbook alert --venue venuec --asset btc --window 15m --kind spread --above 0.05',
    'priorbook alert venueb:KXBTC15M-26AUG111515-15 --kind gap --webhook https://example.org/hook',
    'priorbook alert --list',
  ],
  async run(context) {
    const { options } = context
    const client = context.client()
    if (options.list) return list(context, client)
    if (options.delete !== undefined) {
      const { data } = await client.deleteAlert(options.delete, { signal: context.signal })
      return print(context, data, [`deleted ${data.alert_id}`])
    }
    if (options.test !== undefined) {
      const { data } = await client.testAlert(options.test, { signal: context.signal })
      return print(context, data, [`${data.id} is on its way`])
    }
    if (options.deliveries !== undefined) return deliveries(context, client, options.deliveries)
    const rule = readRule(context)
    if (options.webhook === undefined) return follow(context, client, rule)
    const { data } = await client.createAlert(rule.json, { signal: context.signal })
    return print(context, data, [`created ${data.alert_id}`, `secret ${data.secret}`])
  },
})

type AlertContext = CliContext & {
  readonly options: Readonly<Record<string, unknown>> & { readonly count?: number | undefined }
}

function readRule({ args, options }: CliContext & { readonly options: object }): AlertRule {
  const given = options as Readonly<Record<string, string | undefined>>
  const market = args[0] === undefined ? undefined : parseMarket(args[0])
  const { kind = 'price', above, below, rearm, of, side, within, on, outcome, name } = given
  const { series, asset, window, webhook, contract } = given
  const rule = present({
    kind,
    venue: market?.venue ?? given['venue'],
    market_id: market?.market_id,
    series,
    asset,
    window,
    outcome,
    of,
    side,
    within,
    above,
    below,
    rearm,
    on,
    contract_id: contract,
    name,
    webhook,
  })
  try {
    return parseAlertRule(rule, webhook !== undefined)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { allowed } = error.fields
    throw new UsageError(
      error.message,
      allowed === undefined ? undefined : `One of ${allowed.join(', ')}.`,
    )
  }
}

async function follow(
  context: AlertContext,
  client: PriorbookClient,
  rule: AlertRule,
): Promise<void> {
  if (rule.kind === 'edge') {
    throw new UsageError('a rule of kind edge needs --webhook', 'The service knows the fees.')
  }
  const { venue, marketId, asset, window, series } = rule.scope
  const subscription: LiveSubscription = {
    venue,
    ...present({ market_id: marketId, asset, window, series }),
    mode: 'changes',
    number_format: 'string',
    datasets: rule.kind === 'resolved' ? ['markets'] : ['books'],
  }
  const { isJson, isQuiet, io, signal } = context
  const { count: most = Infinity } = context.options
  const follower = new AlertFollower(rule)
  let count = 0
  for await (const message of client.live(subscription, { signal })) {
    if (message.type === 'disconnected' && !isQuiet) {
      io.note(`disconnected: ${message.reason}; again in ${message.retry_ms} ms`)
    }
    for (const event of follower.apply(message)) {
      const { time, market_id: market, key, what } = event
      if (isJson) await printJson(context, event)
      else await printLines(io, [`${shortTime(time)}  ${venue}:${market ?? key ?? ''}  ${what}`])
      if (++count >= most) return
    }
  }
}

async function list(context: CliContext, client: PriorbookClient): Promise<void> {
  const rows: AlertJson[] = []
  for await (const row of client.alerts({}, { signal: context.signal })) rows.push(row)
  if (context.isJson) {
    for (const row of rows) await printJson(context, row)
    return
  }
  const cells = rows.map(({ alert_id: id, rule, state, fired, pending, delivered, dropped }) => [
    id,
    rule.kind,
    state,
    ...[fired, pending, delivered, dropped].map(String),
    rule.name ?? rule.market_id ?? rule.contract_id ?? rule.series ?? rule.asset ?? '',
  ])
  await printTable(context.io, LIST_COLUMNS, cells)
}

const LIST_COLUMNS = [
  { head: 'ALERT' },
  { head: 'KIND' },
  { head: 'STATE' },
  { head: 'FIRED', right: true },
  { head: 'PENDING', right: true },
  { head: 'DELIVERED', right: true },
  { head: 'DROPPED', right: true },
  { head: 'WHAT', shrinks: true },
] as const

// Deliveries on one page of the service.
const SHOWN = 50

async function deliveries(context: CliContext, client: PriorbookClient, id: string): Promise<void> {
  const rows: string[][] = []
  for await (const page of client
    .alertDeliveries(id, { limit: SHOWN }, { signal: context.signal })
    .pages()) {
    for (const row of page.data) {
      if (context.isJson) await printJson(context, row)
      const { number, state, attempts, status, error, event } = row
      rows.push([
        String(number),
        state,
        String(attempts),
        shortTime(event.time),
        error ?? (status === null ? '' : String(status)),
      ])
    }
    break
  }
  if (!context.isJson) await printTable(context.io, DELIVERY_COLUMNS, rows)
}

const DELIVERY_COLUMNS = [
  { head: 'NUMBER', right: true },
  { head: 'STATE' },
  { head: 'ATTEMPTS', right: true },
  { head: 'TIME (UTC)' },
  { head: 'ANSWER', shrinks: true },
] as const

async function print(context: CliContext, data: unknown, lines: readonly string[]): Promise<void> {
  if (context.isJson) await printJson(context, data)
  else await printLines(context.io, lines)
}
