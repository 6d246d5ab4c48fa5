import { restingMoney } from '../../core/books.ts'
import type { Payload, Phase, Proposition } from '../../core/upstream.ts'
import { moneyText, priceText } from './ladder.ts'
import type { Memory } from './memory.ts'
import type { Round, Rounds } from './rounds.ts'
import { textsOf } from './texts.ts'

/** Shows topics, each named by one of its markets, in the three forms that the venue's routes have. */
export interface Topics {
  listed(round: Round): object
  found(round: Round): object
  detail(round: Round): object
  /** The truth-log payloads of any of the three. */
  claims(round: Round): Payload[]
}

const TIMELINE_BEFORE = 3
const TIMELINE_AFTER = 6
const ONE = 10_000

/** Creates the view of the rounds as topics. */
export function createTopics(rounds: Rounds, memory: Memory): Topics {
  return new TopicView(rounds, memory)
}

class TopicView implements Topics {
  private readonly rounds: Rounds
  private readonly memory: Memory

  constructor(rounds: Rounds, memory: Memory) {
    this.rounds = rounds
    this.memory = memory
  }

  listed(round: Round): object {
    const { proposition: of } = round
    return {
      ...describe(round),
      ...variantOf(of),
      participantCount: of.participants,
      ...TERMS,
      ...this.money(round),
      publishedAt: of.listTime,
      ...span(of),
      status: statusOf(of.phase),
      markets: this.markets(round),
    }
  }

  found(round: Round): object {
    const { proposition: of } = round
    const { imageUrl: _, ...words } = describe(round)
    return {
      ...words,
      ...variantOf(of),
      participantCount: of.participants,
      collateral: TERMS.collateral,
      ...this.money(round),
      ...span(of),
      status: statusOf(of.phase),
      markets: this.markets(round),
    }
  }

  detail(round: Round): object {
    const { proposition: of } = round
    const { symbol } = textsOf(of)
    if (of.topic !== undefined || symbol === undefined) return this.listed(round)
    const variantData = {
      type: 'CRYPTO_UP_DOWN',
      startPrice: of.phase === 'listed' ? null : of.startPrice,
      endPrice: DECIDED.has(of.phase) ? (of.outcome?.endPrice ?? null) : null,
      priceFeedId: `0x${Buffer.from(symbol).toString('hex').padStart(64, '0')}`,
      priceFeedProvider: 'BINANCE',
      priceFeedSymbol: symbol,
    }
    return { ...this.listed(round), variantData, timeline: this.timeline(round) }
  }

  claims(round: Round): Payload[] {
    return this.rounds.byTopic(round.topicId).flatMap((one) => this.claimsOf(one))
  }

  private claimsOf(round: Round): Payload[] {
    const samples = ([0, 1] as const).flatMap((index) =>
      Object.entries(this.values(round, index)).map(([metric, value]): Payload => ({
        kind: 'sample',
        key: round.tokens[index],
        metric,
        value,
      })),
    )
    const { phase, outcome } = round.proposition
    const winner = phase === 'resolved' ? outcome?.winner : undefined
    const key = String(round.marketId)
    const seen = VISIBLE[phase]
    return [
      { kind: 'market', key, phase: seen, ...(winner === undefined ? {} : { winner }) },
      ...samples,
    ]
  }

  /** The neighbouring rounds, so that a client finds the next one before the list shows it. */
  private timeline(round: Round): object[] {
    const family = this.rounds.family(round)
    const own = family.indexOf(round)
    const near = family.slice(Math.max(0, own - TIMELINE_BEFORE), own + 1 + TIMELINE_AFTER)
    return near
      .filter((other) => other !== round)
      .map(({ topicId, proposition }) => ({ marketTopicId: topicId, ...span(proposition) }))
  }

  private markets(round: Round): object[] {
    return this.rounds.byTopic(round.topicId).map((one) => this.market(one))
  }

  /** What was traded and rests in all markets of a topic. */
  private money(round: Round): ReturnType<typeof moneyOf> {
    return moneyOf(this.rounds.byTopic(round.topicId).map(({ proposition }) => proposition))
  }

  private market(round: Round): object {
    const { proposition: of } = round
    const { title, question, description } = textsOf(of)
    return {
      marketId: round.marketId,
      externalId: round.externalId,
      title,
      question,
      description,
      conditionId: round.conditionId,
      status: statusOf(of.phase),
      tradingStatus: TRADING[of.phase],
      ...moneyOf([of]),
      decimalPrecision: of.grain < 1 ? 6 : of.tick < 100 ? 3 : 2,
      outcomes: [this.outcome(round, 0), this.outcome(round, 1)],
    }
  }

  private outcome(round: Round, index: 0 | 1): object {
    const flag = winnerFlag(round.proposition, index)
    return {
      name: textsOf(round.proposition).outcomes[index],
      ...this.values(round, index),
      index,
      tokenId: round.tokens[index],
      ...(flag === undefined ? {} : { winner: flag }),
    }
  }

  private values({ proposition: of }: Round, index: 0 | 1): { price: string; chance: string } {
    const own = (first: number): string => priceText(index === 0 ? first : ONE - first)
    return { price: own(this.memory.price(of)), chance: own(this.memory.chance(of)) }
  }
}

const DECIDED: ReadonlySet<Phase> = new Set(['determined', 'disputed', 'resolved'])
const VARIANT = { topicType: 'FLAT', chartType: 'CRYPTO_UP_DOWN' } as const

function variantOf(of: Proposition): object {
  const { symbol } = textsOf(of)
  if (symbol !== undefined) return { ...VARIANT, symbol }
  return {
    topicType: (of.topic?.markets.length ?? 1) > 1 ? 'GROUPED' : 'FLAT',
    chartType: 'DEFAULT',
  }
}

const TERMS = {
  collateral: 'USDT',
  feeRateBps: 200,
  slippageBps: 1200,
  isYieldBearing: false,
} as const

const TRADING: Readonly<Record<Phase, string>> = {
  listed: 'MATCHING_NOT_ENABLED',
  open: 'OPEN',
  paused: 'CANCEL_ONLY',
  closed: 'CLOSED',
  determined: 'CLOSED',
  disputed: 'CLOSED',
  resolved: 'CLOSED',
}

// Between close and resolution only the end price changes; the status does not.
const VISIBLE: Readonly<Record<Phase, Phase>> = {
  listed: 'listed',
  open: 'open',
  paused: 'paused',
  closed: 'closed',
  determined: 'closed',
  disputed: 'closed',
  resolved: 'resolved',
}

// The status lags behind: the end price is published first.
function statusOf(phase: Phase): string {
  return phase === 'resolved' ? 'RESOLVED' : 'REGISTERED'
}

function describe(round: Round) {
  const { proposition } = round
  const { slug, question, description, imageUrl, title: own } = textsOf(proposition)
  const title = proposition.topic?.title ?? own
  const vendor = { vendor: 'PREDICT_FUN', chainId: '56' }
  return { marketTopicId: round.topicId, ...vendor, slug, title, question, description, imageUrl }
}

function span({ openTime, closeTime }: Proposition): { startDate: number; endDate: number } {
  return { startDate: openTime, endDate: closeTime }
}

function moneyOf(markets: readonly Proposition[]): { tradeVolume: string; liquidity: string } {
  const sum = (amountOf: (market: Proposition) => number): string =>
    moneyText(markets.reduce((total, market) => total + amountOf(market), 0))
  return {
    tradeVolume: sum(({ volume }) => volume),
    liquidity: sum(({ book }) => restingMoney(book)),
  }
}

// A tie has no winner: both flags are false, and both shares pay half.
function winnerFlag({ phase, outcome }: Proposition, index: 0 | 1): boolean | undefined {
  if (phase !== 'resolved' || outcome === undefined) return undefined
  return outcome.winner === (index === 0 ? 'first' : 'second')
}
