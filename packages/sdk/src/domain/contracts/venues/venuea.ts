import type { MarketRecord } from '../../market.ts'
import { nativeField, nativeText } from '../../native-field.ts'
import { fromRecord, fromRule, UNKNOWN, type MarketTerms, type Term } from '../terms.ts'
import { PRICES, said, sharedTerms, type ContractRules } from './derive.ts'

const RULES = 'dev.predict.fun/resolution'
const UP_DOWN = 'CRYPTO_UP_DOWN'

/** Contracts of venue A: rounds of crypto assets. */
export const CONTRACTS_A: ContractRules = {
  derive(record) {
    const { asset, window, openTime: opens, closeTime: closes, outcomes } = record
    const variant = variantOf(record)
    if (variant === undefined || asset === undefined || window === undefined) return undefined
    if (opens === undefined || closes === undefined) return undefined
    const first = outcomes.find(({ index }) => index === 0)?.label.toLowerCase()
    if (first !== 'up' && first !== 'yes') return undefined
    return {
      subject: { kind: 'up_down', asset, window, opens, closes },
      evidence: {
        kind: said(variant, UP_DOWN),
        asset: said('asset', asset),
        window: said('window', window),
      },
      terms: termsOf(record),
      yesIndex: 0,
    }
  },
}

// The vendors name the kind of a market in one of these members.
function variantOf({ native }: MarketRecord): string | undefined {
  const { topic, category, market } = native
  if (nativeField(topic, 'chartType') === UP_DOWN) return 'native.topic.chartType'
  if (nativeField(category, 'marketVariant') === UP_DOWN) return 'native.category.marketVariant'
  if (nativeField(market, 'marketVariant') === UP_DOWN) return 'native.market.marketVariant'
  return undefined
}

function termsOf(record: MarketRecord): MarketTerms['terms'] {
  const { resolution } = record
  const start = resolution?.reference?.startPrice
  return {
    settlement_source: sourceOf(resolution?.source, resolution?.reference?.feed),
    settlement_price: fromRule(RULES, 'Up if the end price is above the start price', PRICES.last),
    reference_price:
      start === undefined ? UNKNOWN : fromRecord('resolution.reference.start_price', start),
    tie: tieOf(record),
    rounding: UNKNOWN,
    ...sharedTerms(record),
  }
}

// `BINANCE` and `BTCUSDT`: the provider and the symbol of the feed.
function sourceOf(provider: string | undefined, feed: string | undefined): Term {
  if (provider === undefined || feed === undefined) return UNKNOWN
  const name = `${provider.slice(0, 1).toUpperCase()}${provider.slice(1).toLowerCase()}`
  const pair = feed.replace(/(?:FDUSD|USDT|USDC|USD)$/, '/$&')
  return fromRecord('native variantData', `${provider} ${feed}`, `${name} ${pair}`)
}

// Plain searches: a pattern for it takes quadratic time over a long text of the venue.
function sentenceWith(words: string, text: string): string | undefined {
  const at = text.indexOf(words)
  const end = at < 0 ? -1 : text.indexOf('.', at)
  return end < 0 ? undefined : text.slice(text.lastIndexOf('.', at) + 1, end + 1)
}

function tieOf({ native }: MarketRecord): Term {
  for (const part of ['market', 'topic', 'category'] as const) {
    const sentence = sentenceWith('50-50', nativeText(native[part], 'description') ?? '')
    if (sentence !== undefined) {
      return fromRecord(`native.${part}.description`, sentence.trim(), 'half')
    }
  }
  return fromRule(RULES, 'a round that ends where it began pays one half to each outcome', 'half')
}
