import type { Proposition, RoundProposition, TopicProposition, World } from '../../core/upstream.ts'
import { RoundNumbers } from '../../world/round-number.ts'
import { slugOf } from './texts.ts'

/** One emulated market with the names that venue C gives it. */
export type Condition = {
  readonly proposition: Proposition
  readonly gammaId: string
  readonly event: EventGroup
  readonly slug: string
  readonly conditionId: string
  readonly questionId: string
  /** Up and Down, or Yes and No. */
  readonly tokens: readonly [string, string]
}

/** The markets of one question; a round is alone in its event. */
export type EventGroup = {
  readonly id: string
  readonly slug: string
  /** In order of listing. */
  readonly conditions: readonly Condition[]
  /** The id that the markets of an exclusive question share. */
  readonly negRiskId: string | undefined
}

/** A market and which of its outcomes a token is. */
export type TokenPlace = { readonly condition: Condition; readonly index: 0 | 1 }

/** The markets of the world by each of their names. */
export interface Conditions {
  all(): readonly Condition[]
  events(): readonly EventGroup[]
  of(proposition: Proposition): Condition
  byCondition(conditionId: string): Condition | undefined
  byGammaId(gammaId: string): Condition | undefined
  /** The newest market with the slug: at high speeds two rounds can start within one second. */
  bySlug(slug: string): Condition | undefined
  byToken(token: string): TokenPlace | undefined
  eventById(id: string): EventGroup | undefined
  eventBySlug(slug: string): EventGroup | undefined
}

/** Names the markets of a world; the same seed and start of a round give the same names. */
export function createConditions(world: World): Conditions {
  return new Directory(world)
}

type OpenGroup = EventGroup & { readonly conditions: Condition[] }

/** Ids of one topic: those of its markets, and the last one for the event. */
const IDS = 64

class Directory implements Conditions {
  private readonly world: World
  private readonly numbers: RoundNumbers
  private readonly conditions: Condition[] = []
  private readonly groups: OpenGroup[] = []
  private readonly conditionIds = new Map<string, Condition>()
  private readonly gammaIds = new Map<string, Condition>()
  private readonly slugs = new Map<string, Condition>()
  private readonly tokens = new Map<string, TokenPlace>()
  private readonly groupIds = new Map<string, OpenGroup>()
  private readonly groupSlugs = new Map<string, OpenGroup>()

  constructor(world: World) {
    this.world = world
    this.numbers = new RoundNumbers(world, 'venuec')
    this.catchUp()
  }

  all(): readonly Condition[] {
    this.catchUp()
    return this.conditions
  }

  events(): readonly EventGroup[] {
    this.catchUp()
    return this.groups
  }

  of(proposition: Proposition): Condition {
    this.catchUp()
    return this.conditions[proposition.index] ?? this.name(proposition)
  }

  byCondition(conditionId: string): Condition | undefined {
    this.catchUp()
    return this.conditionIds.get(conditionId)
  }

  byGammaId(gammaId: string): Condition | undefined {
    this.catchUp()
    return this.gammaIds.get(gammaId)
  }

  bySlug(slug: string): Condition | undefined {
    this.catchUp()
    return this.slugs.get(slug)
  }

  byToken(token: string): TokenPlace | undefined {
    this.catchUp()
    return this.tokens.get(token)
  }

  eventById(id: string): EventGroup | undefined {
    this.catchUp()
    return this.groupIds.get(id)
  }

  eventBySlug(slug: string): EventGroup | undefined {
    this.catchUp()
    return this.groupSlugs.get(slug)
  }

  private catchUp(): void {
    const propositions = this.world.propositions('venuec')
    while (this.conditions.length < propositions.length) {
      const condition = this.name(propositions[this.conditions.length]!)
      this.conditions.push(condition)
      this.conditionIds.set(condition.conditionId, condition)
      this.gammaIds.set(condition.gammaId, condition)
      this.slugs.set(condition.slug, condition)
      this.tokens.set(condition.tokens[0], { condition, index: 0 })
      this.tokens.set(condition.tokens[1], { condition, index: 1 })
    }
  }

  private name(proposition: Proposition): Condition {
    return proposition.topic === undefined
      ? this.nameRound(proposition)
      : this.nameTopic(proposition)
  }

  private nameRound(proposition: RoundProposition): Condition {
    const { asset, window, openTime } = proposition
    const { number, hex } = this.numbers.next(proposition)
    const slug = `${asset.toLowerCase()}-updown-${window}-${Math.floor(openTime / 1000)}`
    return this.join(
      { id: String(2 * number + 1), slug, conditions: [], negRiskId: undefined },
      { proposition, gammaId: String(2 * number), slug, hex, outcomes: ['up', 'down'] },
    )
  }

  private nameTopic(proposition: TopicProposition): Condition {
    const { topic, answer } = proposition
    const name = `venuec/${topic.name}`
    const id = String(topic.number * IDS + IDS - 1)
    const group = this.groupIds.get(id) ?? {
      id,
      slug: slugOf(topic.title, topic.code),
      conditions: [],
      negRiskId: topic.isExclusive ? `0x${this.world.hex(`${name}/neg-risk`, 64)}` : undefined,
    }
    return this.join(group, {
      proposition,
      gammaId: String(topic.number * IDS + topic.markets.indexOf(proposition)),
      slug: slugOf(answer.question, topic.code),
      hex: (what, digits) => this.world.hex(`${name}/${answer.code}/${what}`, digits),
      outcomes: ['yes', 'no'],
    })
  }

  private join(event: OpenGroup, { hex, outcomes, ...names }: Names): Condition {
    const token = (what: string): string => BigInt(`0x${hex(what, 64)}`).toString()
    const condition: Condition = {
      ...names,
      event,
      conditionId: `0x${hex('condition', 64)}`,
      questionId: `0x${hex('question', 64)}`,
      tokens: [token(outcomes[0]), token(outcomes[1])],
    }
    if (event.conditions.length === 0) {
      this.groups.push(event)
      this.groupIds.set(event.id, event)
      this.groupSlugs.set(event.slug, event)
    }
    event.conditions.push(condition)
    return condition
  }
}

type Names = Pick<Condition, 'proposition' | 'gammaId' | 'slug'> & {
  readonly hex: (what: string, digits: number) => string
  readonly outcomes: readonly [string, string]
}
