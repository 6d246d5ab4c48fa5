import { PriorbookError, type Micros } from '@priorbook/sdk/domain'
import { readArray, readObject, show, wrong } from '../../capture/fields.ts'

/** An event of a contract as `eth_getLogs` returns it, with its numbers read. */
export type ChainLog = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly block: number
  readonly blockHash: string
  readonly transaction: string
  readonly index: number
  /** True where the node took the block back after it had been part of the chain. */
  readonly isRemoved: boolean
  /** The time of the block, where the node sends it with the event. */
  readonly time: Micros | undefined
}

/** The parts of a block's head that are used. */
export type ChainBlock = { readonly number: number; readonly hash: string; readonly time: Micros }

/** What a JSON-RPC answer contains: a result, or the refusal of the endpoint. */
export type RpcOutcome =
  | { readonly type: 'result'; readonly result: unknown }
  | { readonly type: 'refused'; readonly code: number; readonly message: string }

/** Max characters of a refusal that are kept. */
const SHOWN_CHARS = 160

/** Reads the envelope of a JSON-RPC answer. */
export function readOutcome(value: unknown): RpcOutcome {
  const answer = readObject(value, 'the answer')
  const { error } = answer
  if (error === undefined || error === null) {
    if (!('result' in answer)) throw wrong('result', undefined, 'present')
    return { type: 'result', result: answer['result'] }
  }
  const { code, message } = readObject(error, 'error')
  const text = typeof message === 'string' ? message.slice(0, SHOWN_CHARS) : 'without a message'
  return { type: 'refused', code: typeof code === 'number' ? code : 0, message: text }
}

const HASH = /^0x[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-f]{40}$/
const DATA = /^0x(?:[0-9a-f]{2})*$/
// Up to 2^52, beyond any block number or time.
const QUANTITY = /^0x[0-9a-f]{1,13}$/

/** Reads a number such as `0x1b4`. */
export function readQuantity(value: unknown, name: string): number {
  return Number(readHex(value, QUANTITY, name, 'a number in hexadecimal'))
}

/** Prints a number for a request. */
export function printQuantity(value: number): string {
  return `0x${value.toString(16)}`
}

function readHash(value: unknown, name: string): string {
  return readHex(value, HASH, name, 'a hash of 32 bytes')
}

function readAddress(value: unknown, name: string): string {
  return readHex(value, ADDRESS, name, 'an address')
}

/** Reads the head of a block; undefined where the node does not have the block. */
export function readBlock(value: unknown): ChainBlock | undefined {
  if (value === null) return undefined
  const block = readObject(value, 'the block')
  return {
    number: readQuantity(block['number'], 'number'),
    hash: readHash(block['hash'], 'hash'),
    time: readSeconds(block['timestamp'], 'timestamp'),
  }
}

/** Reads a list of events. */
export function readEvents(value: unknown): readonly unknown[] {
  return readArray(value, 'the events')
}

/** Reads one event. */
export function readEvent(value: unknown): ChainLog {
  const log = readObject(value, 'the event')
  const stamp = log['blockTimestamp']
  return {
    address: readAddress(log['address'], 'address'),
    topics: readArray(log['topics'], 'topics').map((topic) => readHash(topic, 'a topic')),
    data: readHex(log['data'], DATA, 'data', 'bytes in hexadecimal'),
    block: readQuantity(log['blockNumber'], 'blockNumber'),
    blockHash: readHash(log['blockHash'], 'blockHash'),
    transaction: readHash(log['transactionHash'], 'transactionHash'),
    index: readQuantity(log['logIndex'], 'logIndex'),
    isRemoved: log['removed'] === true,
    time: stamp === undefined || stamp === null ? undefined : readSeconds(stamp, 'blockTimestamp'),
  }
}

function readSeconds(value: unknown, name: string): Micros {
  const micros = readQuantity(value, name) * 1_000_000
  if (micros < MAX_TIME) return micros as Micros
  throw new PriorbookError('invalid_time', `${name} is ${show(value)}, beyond the year 2100`)
}

const MAX_TIME = Date.UTC(2100, 0) * 1000

function readHex(value: unknown, form: RegExp, name: string, what: string): string {
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  if (form.test(text)) return text
  throw wrong(name, value, what)
}
