import {
  flagOption,
  parsedOption,
  printCount as count,
  UsageError,
} from '@priorbook/sdk/command-line'
import {
  CAPTURE_TIERS,
  isVenueId,
  PriorbookError,
  VENUE_IDS,
  type CaptureTier,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { describeRule } from '../venues/capture/selection/rules.ts'
import {
  hasBooks,
  type SelectionOptions,
  type SurveyedMarket,
} from '../venues/capture/selection/selection.ts'
import { createSurveySink } from '../venues/capture/selection/survey-sink.ts'
import { definitionOf } from '../venues/registry.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { defineCommand, print, type ServerContext } from './command.ts'
import { startEmulated, toConnectors, type EmulatedAddresses } from './emulated.ts'

const SELECTING = VENUE_IDS.filter((venue) => definitionOf(venue).toSelection !== undefined)
const SHOWN = 3

/** `priorbook-server select` */
export const selectCommand = defineCommand({
  name: 'select',
  args: '[VENUE…]',
  about:
    'Lists the markets of the venues and says which rule selects them and how deep they would be recorded; nothing is recorded.',
  options: {
    explain: flagOption('Print every market with its tier and the reason.'),
    upstream: parsedOption(
      'Whom to ask; upstream of the configuration by default.',
      { value: 'UPSTREAM', words: ['emulator', 'live'] },
      (text) => text,
    ),
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server select --upstream live --config priorbook.json',
    'PRIORBOOK_VENUEB_SELECT=all npx priorbook-server select venueb --explain',
  ],
  async run(context) {
    const { options, args } = context
    const given = new Map(options.upstream === undefined ? [] : [['upstream', options.upstream]])
    const config = readConfig(options.config, given)
    const emulated =
      config.upstream === 'emulator' ? await startEmulated(config.emulator) : undefined
    try {
      const surveys: Survey[] = []
      for (const venue of venuesOf(args)) {
        if (!config[venue].enabled) continue
        surveys.push(await surveyVenue(config, venue, emulated?.addresses))
      }
      await show(context, surveys, options.explain)
    } finally {
      await emulated?.stop()
    }
  },
})

type Survey = {
  readonly venue: VenueId
  readonly selection: SelectionOptions
  readonly markets: readonly SurveyedMarket[]
}

function venuesOf(args: readonly string[]): readonly VenueId[] {
  const wrong = args.find((name) => !isVenueId(name) || !SELECTING.includes(name))
  if (wrong !== undefined) {
    throw new UsageError(`${wrong} has no rules of selection; those have: ${SELECTING.join(', ')}`)
  }
  return args.length === 0 ? SELECTING : (args as VenueId[])
}

async function surveyVenue(
  config: Config,
  venue: VenueId,
  emulated: EmulatedAddresses | undefined,
): Promise<Survey> {
  const definition = definitionOf(venue)
  const create = toConnectors(config, emulated)[venue]!
  const warn = (_fields: object, message: string): void => console.error(message)
  const connector = create({
    sink: createSurveySink(definition.normalizer),
    log: { info: () => undefined, warn, error: warn },
    unresolved: [],
  })
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGINT', onSignal)
  try {
    const markets = [...(await connector.survey!(stop.signal))]
    if (stop.signal.aborted) throw new PriorbookError('upstream_failed', 'it was stopped')
    const address = emulated?.[venue]
    const upstream = { config: config[venue], ...(address && { emulated: address }) }
    return { venue, selection: definition.toSelection!(upstream), markets }
  } finally {
    process.off('SIGINT', onSignal)
  }
}

async function show(
  context: Pick<ServerContext, 'io' | 'isJson'>,
  surveys: readonly Survey[],
  isExplained: boolean,
): Promise<void> {
  const value = surveys.map(({ venue, selection, markets }) => ({
    venue,
    tiers: tiersOf(selection, markets),
    rules: rulesOf(selection, markets),
    ...(isExplained ? { markets: markets.map(toRow) } : {}),
  }))
  const lines = value.flatMap(({ venue, tiers, rules, markets = [] }) => [
    `${venue}: ${count(tiers.reduce((sum, one) => sum + one.markets, 0))} markets`,
    ...markets.map(
      ({ market, tier, why, title }) => `  ${tier.padEnd(9)}  ${market}  ${why}  ${title}`,
    ),
    ...rules.map(
      ({ rule, tier, markets: found, first }) =>
        `  ${rule}, ${tier}: ${count(found)} markets${first.length === 0 ? '' : `, such as ${first.join(', ')}`}`,
    ),
    ...tiers.map(({ tier, markets: found, books, bound }) =>
      bound === undefined
        ? `  ${tier.padEnd(9)}  ${count(found)} markets`
        : `  ${tier.padEnd(9)}  ${count(found)} markets, ${count(books)} of at most ${count(bound)} books`,
    ),
  ])
  await print(context, { venues: value }, lines)
}

function toRow({ facts, tier, why, activity }: SurveyedMarket): {
  readonly market: string
  readonly tier: CaptureTier
  readonly why: string
  readonly title: string
  readonly category: string | null
  readonly activity: number
} {
  const { marketId: market, title = '', category = null } = facts
  return { market, tier, why, title, category, activity }
}

function tiersOf({ bounds, booksPerMarket }: SelectionOptions, markets: readonly SurveyedMarket[]) {
  return CAPTURE_TIERS.map((tier) => {
    const found = markets.filter((market) => market.tier === tier).length
    const bound = hasBooks(tier) ? bounds[tier] : undefined
    return { tier, markets: found, books: bound === undefined ? 0 : found * booksPerMarket, bound }
  })
}

// One line a rule, also for rules that apply to no market: they may be mistyped.
function rulesOf({ rules }: SelectionOptions, markets: readonly SurveyedMarket[]) {
  const numbers = [...rules.keys().map((at) => at + 1), 0]
  return numbers.map((number) => {
    const found = markets.filter(({ rule }) => rule === number)
    const first = found.slice(0, SHOWN).map(({ facts }) => facts.marketId)
    const tier = rules[number - 1]?.tier ?? 'none'
    return { rule: describeRule(rules, number), tier, markets: found.length, first }
  })
}
