import type { Random } from '../../packages/emulator/src/world/random.ts'

/** Spoils the text of a message in one to three ways; the same numbers spoil it the same way. */
export function mutateMessage(text: string, random: Random): Uint8Array {
  let spoiled = text
  const times = 1 + random.int(3)
  for (let time = 0; time < times; time++) {
    spoiled = random.chance(0.25) ? mutateText(spoiled, random) : mutateJson(spoiled, random)
    // What is as deep or as long as it gets now is enough.
    if (spoiled.length > text.length + DEEP) break
  }
  return random.chance(0.02) ? spoilBytes(spoiled, random) : Buffer.from(spoiled)
}

// Whole messages, numbers and strings that have broken parsers before.
const WHOLE = [
  '',
  ' ',
  'null',
  '[]',
  '{}',
  '""',
  '0',
  '[null]',
  'NaN',
  'PONG',
  '\u0000',
  '\ufeff{}',
]
const NUMBERS = [
  'NaN',
  '1e308',
  '-1e308',
  'Infinity',
  '-1',
  '-0',
  '1e-7',
  '0',
  '01',
  '0x10',
  '9'.repeat(30),
]
const HOSTILE: readonly unknown[] = [
  null,
  true,
  '',
  0,
  -1,
  1e308,
  9_007_199_254_740_992,
  'NaN',
  '1e308',
  '-0.00',
  '0.5\u0000',
  '٣',
  '9'.repeat(400),
  `0.${'0'.repeat(900)}1`,
  '__proto__',
  'constructor',
  [],
  {},
  [[]],
  [null],
]
const PRICES = ['0', '1', '0.5', '0.999', '-0.01', '1.01', '0.12345678901', 50, 0.5]
// Times beyond now, beyond the tape and beyond the calendar; seconds, milliseconds and text.
const TIMES: readonly unknown[] = [
  4_102_444_800,
  4_102_444_800_000,
  '4102444800000',
  '9007199254740993',
  9e15,
  0,
  -1,
  '9999-12-31T23:59:59Z',
  '0001-01-01T00:00:00Z',
  '2026-13-45T00:00:00Z',
]
// A small pool: identifiers that never end would be a flood, which is another test.
const IDS: readonly unknown[] = [
  'KXBTC15M-FORGED-00',
  'KXNOTHING-26NOV15-T1',
  '../../etc/passwd',
  '7'.repeat(77),
  `0x${'d'.repeat(64)}`,
  4242,
  'x'.repeat(3000),
]
const KEYS = ['__proto__', 'constructor', 'toString', 'type', 'msg', 'markets', 'bids', 'yes', 'x']
const DEEP = 20_000
const HUGE = 20_000

function mutateText(text: string, random: Random): string {
  const at = random.int(text.length + 1)
  switch (random.int(7)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return WHOLE[random.int(WHOLE.length)]!
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random.int(12))
    case 3: {
      const piece = text.slice(at, at + random.int(60))
      return text.slice(0, at) + piece + text.slice(at)
    }
    case 4:
      return `${text.slice(0, at)}${String.fromCharCode(random.int(0x3000))}${text.slice(at + 1)}`
    case 5:
      return replaceNumber(text, random)
    default:
      // Seldom, because it is long.
      return random.chance(0.05) ? nest(text, at, random) : `${text}${text}`
  }
}

function replaceNumber(text: string, random: Random): string {
  const found = [...text.matchAll(/-?\d+(?:\.\d+)?/g)]
  const one = found[random.int(Math.max(1, found.length))]
  if (one === undefined) return text
  const number = NUMBERS[random.int(NUMBERS.length)]!
  return text.slice(0, one.index) + number + text.slice(one.index + one[0].length)
}

function nest(text: string, at: number, random: Random): string {
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}']
  const tail = random.chance(0.5) ? `0${close.repeat(DEEP)}` : ''
  return text.slice(0, at) + open.repeat(DEEP) + tail + text.slice(at)
}

function spoilBytes(text: string, random: Random): Uint8Array {
  const bytes = Buffer.from(text)
  if (bytes.length > 0) bytes[random.int(bytes.length)] = 0x80 + random.int(0x80)
  return bytes
}

function mutateJson(text: string, random: Random): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return mutateText(text, random)
  }
  const holder = { value }
  const places: Place[] = []
  gather(holder, places)
  const place = places[random.int(places.length)]!
  const said = place.parent[place.key]
  // Venue A puts JSON into a string.
  if (typeof said === 'string' && said.startsWith('{')) {
    place.parent[place.key] = mutateJson(said, random)
  } else mutatePlace(place, places, random)
  return JSON.stringify(holder.value) ?? 'null'
}

type Parent = Record<string, unknown>
type Place = { readonly parent: Parent; readonly key: string }

function mutatePlace(place: Place, places: readonly Place[], random: Random): void {
  const { parent, key } = place
  const pick = <T>(list: readonly T[]): T => list[random.int(list.length)]!
  const put = (name: string, value: unknown): void => {
    // Makes an own key even of __proto__, as JSON.parse does.
    const open = { writable: true, enumerable: true, configurable: true }
    Object.defineProperty(parent, name, { value: structuredClone(value), ...open })
  }
  switch (random.int(10)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1)
      else Reflect.deleteProperty(parent, key)
      return
    case 1:
      if (!Array.isArray(parent)) put(pick(KEYS), pick(HOSTILE))
      return
    case 2:
      return swap(place, pick(places))
    case 3:
      return crossSides(parent)
    case 4:
      return multiply(pickList(places, random) ?? parent, random)
    case 5:
      return put(key, pick(PRICES))
    case 6:
      return put(pickKey(places, parent, key, /time|ts$|_ms$|stamp/i, random), pick(TIMES))
    case 7:
      return put(pickKey(places, parent, key, /id$|ticker|market|topic|slug/i, random), pick(IDS))
    default:
      return put(key, pick(HOSTILE))
  }
}

/** A key of the same object that is named so, if there is one. */
function pickKey(
  places: readonly Place[],
  parent: Parent,
  key: string,
  name: RegExp,
  random: Random,
): string {
  const named = places.filter((one) => one.parent === parent && name.test(one.key))
  return named[random.int(Math.max(1, named.length))]?.key ?? key
}

function pickList(places: readonly Place[], random: Random): unknown {
  const lists = places.filter(({ parent, key }) => Array.isArray(parent[key]))
  const one = lists[random.int(Math.max(1, lists.length))]
  return one?.parent[one.key]
}

function swap(one: Place, other: Place): void {
  const value = one.parent[one.key]
  const theirs = other.parent[other.key]
  // A value must not come into itself.
  if (isInside(value, other.parent) || isInside(theirs, one.parent)) return
  one.parent[one.key] = theirs
  other.parent[other.key] = value
}

function isInside(value: unknown, object: object): boolean {
  if (typeof value !== 'object' || value === null) return false
  return value === object || Object.values(value).some((part) => isInside(part, object))
}

// Bids become asks: a crossed book.
function crossSides(parent: Parent): void {
  for (const [one, other] of [
    ['bids', 'asks'],
    ['yes_dollars', 'no_dollars'],
    ['yes_dollars_fp', 'no_dollars_fp'],
    ['best_bid', 'best_ask'],
  ] as const) {
    if (one in parent && other in parent) {
      ;[parent[one], parent[other]] = [parent[other], parent[one]]
    }
  }
}

// The same element twice: a price twice, a market twice; now and then very often.
function multiply(list: unknown, random: Random): void {
  if (!Array.isArray(list) || list.length === 0) return
  const element: unknown = list[random.int(list.length)]
  const isSmall = JSON.stringify(element).length < 40
  const times = isSmall && random.chance(0.02) ? HUGE : 1 + random.int(3)
  for (let time = 0; time < times; time++) list.push(structuredClone(element))
}

function gather(parent: object, places: Place[]): void {
  for (const [key, child] of Object.entries(parent) as [string, unknown][]) {
    places.push({ parent: parent as Parent, key })
    if (typeof child === 'object' && child !== null) gather(child, places)
  }
}
