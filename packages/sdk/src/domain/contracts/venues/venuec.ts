import { COIN_NAMES } from '../../coin-names.ts'
import { canonicalDecimal } from '../../decimal.ts'
import type { MarketRecord } from '../../market.ts'
import { parseMicros, type Micros } from '../../micros.ts'
import { nativeText } from '../../native-field.ts'
import {
  fromRecord,
  fromRule,
  UNKNOWN,
  type ContractSubject,
  type Evidence,
  type MarketTerms,
  type Term,
} from '../terms.ts'
import { PRICES, said, sharedTerms, type ContractRules } from './derive.ts'

/** Contracts of venue C: rounds, and prices of coins on a day. */
export const CONTRACTS_C: ContractRules = {
  derive: (record) => deriveRound(record) ?? derivePrice(record),
  mayBePrice: ({ text }) => text.includes(PRICE_WORDS.toLowerCase()),
  titleWord: (asset) => [...COIN_NAMES].find(([, ticker]) => ticker === asset)?.[0],
}

function deriveRound(record: MarketRecord): MarketTerms | undefined {
  const { asset, window, openTime: opens, closeTime: closes, outcomes, slug } = record
  if (asset === undefined || window === undefined) return undefined
  if (opens === undefined || closes === undefined) return undefined
  const labels = outcomes.map(({ label }) => label.toLowerCase())
  if (labels.join() !== 'up,down') return undefined
  return {
    subject: { kind: 'up_down', asset, window, opens, closes },
    evidence: {
      kind: said('outcomes', 'Up, Down'),
      asset: slug === undefined ? said('asset', asset) : said('slug', slug),
      window: slug === undefined ? said('window', window) : said('slug', slug),
    },
    terms: {
      settlement_source: sourceOf(record),
      settlement_price: roundPrice(window, opens),
      reference_price: UNKNOWN,
      tie: roundTie(record),
      rounding: UNKNOWN,
      ...sharedTerms(record),
    },
    yesIndex: 0,
  }
}

const TWAP_DAY = '2026-08-07'
const TWAP_SINCE = parseMicros(`${TWAP_DAY}T00:00:00Z`)
const TWAP_SECONDS: ReadonlyMap<string, number> = new Map([
  ['5m', 30],
  ['15m', 60],
])
const RULES = 'docs.polymarket.com, crypto rounds'

// Rounds from August 7, 2026 on settle on time-weighted averages of the oracle’s price.
function roundPrice(window: string, opens: Micros): Term {
  if (opens < TWAP_SINCE) {
    return fromRule(RULES, `before ${TWAP_DAY}: the oracle’s price at the bounds`, PRICES.last)
  }
  const seconds = TWAP_SECONDS.get(window)
  if (seconds === undefined) return UNKNOWN
  const text = `the oracle’s time-weighted average over ${seconds} seconds`
  return fromRule(RULES, text, PRICES.average(seconds), TWAP_DAY)
}

const AT_LEAST = /greater than or\s+equal to/

function roundTie(record: MarketRecord): Term {
  const [words] = AT_LEAST.exec(descriptionOf(record) ?? '') ?? []
  return words === undefined
    ? fromRule(RULES, 'Up wins if the price at the end is at least the price at the start', 'yes')
    : fromRecord('native.gamma.description', words, 'yes')
}

const STREAM = /data\.chain\.link\/streams\/([a-z0-9]+)-([a-z]+)/
const EXCHANGE = /binance\.com\/[^?]*trade\/([A-Z0-9]+)_([A-Z]+)/
// The patterns take quadratic time over a long text, and no address that they know is longer.
const ADDRESS_CHARACTERS = 1_000

function sourceOf(record: MarketRecord): Term {
  const address = record.resolution?.source
  if (address === undefined) return UNKNOWN
  const start = address.slice(0, ADDRESS_CHARACTERS)
  const [, coin, unit] = STREAM.exec(start) ?? []
  const [, base, quote] = EXCHANGE.exec(start) ?? []
  const name =
    coin !== undefined
      ? `Chainlink ${coin.toUpperCase()}/${unit!.toUpperCase()}`
      : base !== undefined
        ? `Binance ${base}/${quote}`
        : address
  return fromRecord('resolution.source', address, name)
}

const PRICE_WORDS = 'Will the price of '
const NUMBER = String.raw`\$(\d[\d,]*(?:\.\d+)?)`
const ABOVE = new RegExp(
  `^${PRICE_WORDS}([A-Za-z]+) be (above|greater than|higher than|below|less than) ${NUMBER} on `,
)
const BETWEEN = new RegExp(`^${PRICE_WORDS}([A-Za-z]+) be between ${NUMBER} and ${NUMBER} on `)

function derivePrice(record: MarketRecord): MarketTerms | undefined {
  const { question = '', closeTime: closes, outcomes } = record
  if (closes === undefined || outcomes[0]?.label.toLowerCase() !== 'yes') return undefined
  const [above, aboveCoin, word, price] = ABOVE.exec(question) ?? []
  const [between, rangeCoin, low, high] = BETWEEN.exec(question) ?? []
  const asset = COIN_NAMES.get((aboveCoin ?? rangeCoin ?? '').toLowerCase())
  if (asset === undefined) return undefined
  const evidence = (text: string): Readonly<Record<string, Evidence>> => {
    const one = said('question', text)
    return { kind: one, asset: one, strike: one }
  }
  const terms = (written: string): MarketTerms['terms'] => ({
    settlement_source: sourceOf(record),
    settlement_price: candleOf(record),
    reference_price: fromRecord('question', written),
    tie: UNKNOWN,
    rounding: UNKNOWN,
    ...sharedTerms(record),
  })
  if (above !== undefined) {
    const isBelow = word === 'below' || word === 'less than'
    const strike = plain(price!)
    const subject: ContractSubject = { kind: 'above', asset, strike, closes }
    const tie = isBelow ? UNKNOWN : strictTie(record)
    return {
      subject,
      evidence: evidence(above.trim()),
      terms: { ...terms(strike), tie },
      yesIndex: isBelow ? 1 : 0,
    }
  }
  const [floor, cap] = [plain(low!), plain(high!)]
  return {
    subject: { kind: 'range', asset, floor, cap, closes },
    evidence: evidence(between!.trim()),
    terms: terms(`${floor} to ${cap}`),
    yesIndex: 0,
  }
}

// Of "above" alone it is not known what happens on the strike; the description may say it.
function strictTie(record: MarketRecord): Term {
  const [words] = /higher than the price specified/.exec(descriptionOf(record) ?? '') ?? []
  return words === undefined ? UNKNOWN : fromRecord('native.gamma.description', words, 'no')
}

function candleOf(record: MarketRecord): Term {
  const [words] = /1[- ]minute candle/i.exec(descriptionOf(record) ?? '') ?? []
  return words === undefined
    ? UNKNOWN
    : fromRecord('native.gamma.description', words, PRICES.candle)
}

function descriptionOf({ native }: MarketRecord): string | undefined {
  return nativeText(native['gamma'], 'description')
}

function plain(text: string): string {
  return canonicalDecimal(text.replaceAll(',', ''))
}
