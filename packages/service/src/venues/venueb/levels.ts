import { PriorbookError, type Level } from '@priorbook/sdk/domain'
import { readArray, show, type NativeObject } from '../capture/fields.ts'
import { ONE_DOLLAR, readCents, readContracts, readDollars } from './fields.ts'

/** The two ladders of a market as venue B sends them: bids only, no prices being prices of no. */
export type NativeBook = { readonly yes: readonly Level[]; readonly no: readonly Level[] }

// Names of a side, newest first. `_fp` is the fixed-point form of the socket, `_dollars` that of
// REST since 2025; the bare names are whole cents, with an underscore on the demo exchange of 2024.
const YES = { dollars: ['yes_dollars_fp', 'yes_dollars'], cents: ['yes', '_yes'] } as const
const NO = { dollars: ['no_dollars_fp', 'no_dollars'], cents: ['no', '_no'] } as const

/** Reads both ladders; a side that is missing, null or [] is empty. Levels stay in the order sent. */
export function parseBook(book: NativeObject): NativeBook {
  return { yes: parseSide(book, YES), no: parseSide(book, NO) }
}

/** Turns bids for no into asks for yes: a bid for no at p offers yes at 1 − p. */
export function toAsks(no: readonly Level[]): Level[] {
  return no.map((level) => ({ price: complement(level.price), size: level.size }))
}

/** The yes price that a no price stands for. Bounds are the business of the row checks. */
export function complement(price: Level['price']): Level['price'] {
  return (ONE_DOLLAR - price) as Level['price']
}

const EMPTY: readonly Level[] = []

function parseSide(book: NativeObject, names: typeof YES | typeof NO): readonly Level[] {
  for (const name of names.dollars) {
    if (book[name] !== undefined && book[name] !== null) {
      return parseLevels(book[name], name, readDollars)
    }
  }
  for (const name of names.cents) {
    if (book[name] !== undefined && book[name] !== null) {
      return parseLevels(book[name], name, readCents)
    }
  }
  return EMPTY
}

function parseLevels(value: unknown, name: string, readPrice: typeof readDollars): Level[] {
  const levels: Level[] = []
  for (const pair of readArray(value, name)) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new PriorbookError('invalid_message', `${name} holds a level that is no [price, size]`)
    }
    const price = readPrice(pair[0], `a price of ${name}`)
    const size = readContracts(pair[1], `a size of ${name}`)
    if (size <= 0) {
      throw new PriorbookError(
        'invalid_message',
        `${name} holds size ${show(pair[1])} at ${show(pair[0])}; a resting size is above zero`,
      )
    }
    levels.push({ price, size })
  }
  return levels
}
