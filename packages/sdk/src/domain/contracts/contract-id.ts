import { canonicalDecimal, parseScaled, printScaled } from '../decimal.ts'
import { PriorbookError } from '../errors.ts'
import { parseMicros, printMicros, toMicros, type Micros } from '../micros.ts'
import type { ContractSubject } from './terms.ts'

/**
 * The id of a contract. It carries the whole subject, so that a contract is found by looking up its members
 * in the catalogue: `btc-15m-up-down-20261117T174500Z` (the time at which it closes),
 * `btc-above-95000-20261118T170000Z`, `btc-range-94000-96000-20261118T170000Z`. A window that is not as
 * long as its name says ends with its length: `…-30s`.
 */
export function printContractId(subject: ContractSubject): string {
  const asset = subject.asset.toLowerCase()
  const closes = compactTime(subject.closes)
  switch (subject.kind) {
    case 'up_down': {
      const length = subject.closes - subject.opens
      const more = length === windowMicros(subject.window) ? '' : `-${printScaled(length, 6)}s`
      return `${asset}-${subject.window}-up-down-${closes}${more}`
    }
    case 'above':
      return `${asset}-above-${subject.strike}-${closes}`
    case 'range':
      return `${asset}-range-${subject.floor}-${subject.cap}-${closes}`
  }
}

const TIME = String.raw`(\d{8}T\d{6}(?:\.\d{1,6})?Z)`
const NUMBER = String.raw`(\d{1,15}(?:\.\d{1,8})?)`
const UP_DOWN = new RegExp(
  String.raw`^([a-z0-9]{1,16})-(\d{1,3}[mhd])-up-down-${TIME}(?:-(\d{1,9}(?:\.\d{1,6})?)s)?$`,
)
const ABOVE = new RegExp(`^([a-z0-9]{1,16})-above-${NUMBER}-${TIME}$`)
const RANGE = new RegExp(`^([a-z0-9]{1,16})-range-${NUMBER}-${NUMBER}-${TIME}$`)

/** What an id of a contract names; undefined for any text that `printContractId` does not print. */
export function parseContractId(id: string): ContractSubject | undefined {
  try {
    const subject = readSubject(id)
    return subject !== undefined && printContractId(subject) === id ? subject : undefined
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}

function readSubject(id: string): ContractSubject | undefined {
  const [, coin, window, end, length] = UP_DOWN.exec(id) ?? []
  if (coin !== undefined) {
    const closes = readTime(end!)
    const micros = length === undefined ? windowMicros(window!) : parseScaled(length, 6)
    const opens = toMicros(closes - (micros ?? 0))
    return { kind: 'up_down', asset: coin.toUpperCase(), window: window!, opens, closes }
  }
  const [, above, strike, at] = ABOVE.exec(id) ?? []
  if (above !== undefined) {
    return {
      kind: 'above',
      asset: above.toUpperCase(),
      strike: canonicalDecimal(strike!),
      closes: readTime(at!),
    }
  }
  const [, range, floor, cap, time] = RANGE.exec(id) ?? []
  if (range === undefined) return undefined
  return {
    kind: 'range',
    asset: range.toUpperCase(),
    floor: canonicalDecimal(floor!),
    cap: canonicalDecimal(cap!),
    closes: readTime(time!),
  }
}

/** The form of the ids that an operator gives out. */
export const OPERATOR_ID = /^x-[a-z0-9][a-z0-9-]{0,79}$/

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }

/** The length of a window such as `15m` in microseconds; undefined for anything else. */
export function windowMicros(window: string): number | undefined {
  const [, count, unit] = /^(\d{1,3})([mhd])$/.exec(window) ?? []
  return count === undefined ? undefined : Number(count) * UNITS[unit!]! * 1_000_000
}

// 2026-11-17T17:45:00.000000Z without dashes, colons and the zeros at the end of the fraction.
function compactTime(time: Micros): string {
  const [whole, fraction = ''] = printMicros(time).slice(0, -1).replaceAll(/[-:]/g, '').split('.')
  const rest = fraction.replace(/0+$/, '')
  return rest === '' ? `${whole}Z` : `${whole}.${rest}Z`
}

function readTime(text: string): Micros {
  const [, year, month, day, hour, minute, rest] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d+)?Z)$/.exec(text)!
  return parseMicros(`${year}-${month}-${day}T${hour}:${minute}:${rest}`)
}
