import { restingMoney } from '../../core/books.ts'
import type { Condition, EventGroup } from './conditions.ts'
import { eventUpdatedAt, isEventClosed, liquidityOf, volumeOf } from './gamma-event.ts'
import type { Shape } from './gamma-query.ts'
import { isClosed, type Memory } from './memory.ts'
import type { Tags } from './tags.ts'

/** Millionths in a share or a dollar. */
const UNIT = 1_000_000

/** How /markets filters and orders. */
export function marketShape(memory: Memory, tags: Tags): Shape<Condition> {
  const listed = ({ proposition }: Condition): number => proposition.listTime
  const ends = ({ proposition }: Condition): number => proposition.closeTime
  const volume = ({ proposition }: Condition): number => proposition.volume
  const liquidity = ({ proposition }: Condition): number => restingMoney(proposition.book)
  return {
    hidesClosed: true,
    flags: {
      closed: ({ proposition }) => isClosed(proposition.phase),
      active: ({ proposition }) => memory.traded(proposition),
      archived: () => false,
    },
    names: {
      id: ({ gammaId }) => [gammaId],
      slug: ({ slug }) => [slug],
      condition_ids: ({ conditionId }) => [conditionId],
      question_ids: ({ questionId }) => [questionId],
      clob_token_ids: ({ tokens }) => tokens,
      tag_id: ({ event }) => tags.of(event).map(({ id }) => id),
    },
    times: { start_date: listed, end_date: ends },
    amounts: {
      volume_num: (row) => volume(row) / UNIT,
      liquidity_num: (row) => liquidity(row) / UNIT,
    },
    orders: {
      id: ({ proposition }) => proposition.index,
      startDate: listed,
      createdAt: listed,
      endDate: ends,
      updatedAt: ({ proposition }) => memory.updatedAt(proposition),
      volume,
      volumeNum: volume,
      volume24hr: volume,
      liquidity,
      liquidityNum: liquidity,
    },
  }
}

/** How /events filters and orders; it hides nothing by default. */
export function eventShape(memory: Memory, tags: Tags): Shape<EventGroup> {
  const first = ({ conditions }: EventGroup): Condition['proposition'] => conditions[0]!.proposition
  const listed = (event: EventGroup): number => first(event).listTime
  const ends = (event: EventGroup): number => first(event).closeTime
  return {
    hidesClosed: false,
    flags: {
      closed: isEventClosed,
      active: (event) => memory.traded(first(event)),
      archived: () => false,
    },
    names: {
      id: ({ id }) => [id],
      slug: ({ slug }) => [slug],
      condition_ids: ({ conditions }) => conditions.map(({ conditionId }) => conditionId),
      question_ids: ({ conditions }) => conditions.map(({ questionId }) => questionId),
      clob_token_ids: ({ conditions }) => conditions.flatMap(({ tokens }) => tokens),
      tag_id: (event) => tags.of(event).map(({ id }) => id),
      tag_slug: (event) => tags.of(event).map(({ slug }) => slug),
    },
    times: { start_date: listed, end_date: ends },
    amounts: {
      volume: (event) => volumeOf(event) / UNIT,
      liquidity: (event) => liquidityOf(event) / UNIT,
    },
    orders: {
      id: (event) => first(event).index,
      startDate: listed,
      createdAt: listed,
      endDate: ends,
      updatedAt: (event) => eventUpdatedAt(event, memory),
      volume: volumeOf,
      volumeNum: volumeOf,
      volume24hr: volumeOf,
      liquidity: liquidityOf,
      liquidityNum: liquidityOf,
    },
  }
}
