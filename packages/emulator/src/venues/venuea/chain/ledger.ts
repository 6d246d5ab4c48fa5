import type { World } from '../../../core/upstream.ts'
import type { ChainTransaction, ContractLog } from './match.ts'

/** The head of a block; times are whole seconds, as on the chain. */
export type BlockHead = {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: number
}

/** An event with its place. */
export type PlacedLog = ContractLog & {
  readonly blockNumber: number
  readonly blockHash: string
  readonly transactionHash: string
  readonly transactionIndex: number
  readonly logIndex: number
}

/** What goes wrong with blocks while they are mined. */
export interface MiningFaults {
  /** How many of the newest blocks are replaced now, if any. */
  reorganizes(): number | undefined
  /** True where the events of the newest block can never be read. */
  loses(): boolean
}

/** Milliseconds between two blocks, at any speed of the markets. */
export const BLOCK_MS = 750
/** Max transactions that are kept, in whole blocks; older blocks are empty. */
const KEPT = 20_000
/** Of the transactions of replaced blocks, every third never happens. */
const DROPPED = 3

/**
 * The blocks of the emulated chain. Numbers and times follow the clock, so that a restart continues them;
 * a transaction goes into the next block, which cannot change any more once it is mined.
 */
export class Ledger {
  readonly #world: World
  readonly #faults: MiningFaults
  readonly #blocks = new Map<number, ChainTransaction[]>()
  /** How many times a block was replaced. */
  readonly #branches = new Map<number, number>()
  readonly #lost = new Set<number>()
  #transactions = 0
  #head = 0
  #replaced = 0

  constructor(world: World, faults: MiningFaults) {
    this.#world = world
    this.#faults = faults
    this.#head = this.#due()
  }

  /** The number of the newest block. */
  get head(): number {
    this.#mine()
    return this.#head
  }

  /** Puts a transaction into the next block. */
  add(transaction: ChainTransaction): void {
    this.#mine()
    this.#put(transaction)
  }

  block(number: number): BlockHead | undefined {
    if (number < 0 || number > this.head) return undefined
    return {
      number,
      hash: this.#hash(number),
      parentHash: this.#hash(number - 1),
      timestamp: Math.floor((number * BLOCK_MS) / 1000),
    }
  }

  /** The events of blocks [from, to]; undefined where one of them cannot be read. */
  logs(from: number, to: number): PlacedLog[] | undefined {
    const logs: PlacedLog[] = []
    const last = Math.min(to, this.head)
    for (const number of this.#lost) if (number >= from && number <= last) return undefined
    for (let number = from; number <= last; number++) logs.push(...this.#logsOf(number))
    return logs
  }

  #logsOf(blockNumber: number): PlacedLog[] {
    const blockHash = this.#hash(blockNumber)
    let logIndex = 0
    return (this.#blocks.get(blockNumber) ?? []).flatMap(({ hash, logs }, transactionIndex) =>
      logs.map((log) => {
        const place = { blockNumber, blockHash, transactionHash: hash, transactionIndex }
        return { ...log, ...place, logIndex: logIndex++ }
      }),
    )
  }

  #mine(): void {
    const due = this.#due()
    while (this.#head < due) {
      this.#head++
      if (this.#faults.loses()) this.#lost.add(this.#head)
      const depth = this.#faults.reorganizes()
      if (depth !== undefined) this.#reorganize(depth)
    }
  }

  /** Replaces the newest blocks: their transactions come again in the next one, or never. */
  #reorganize(depth: number): void {
    for (let number = this.#head - depth + 1; number <= this.#head; number++) {
      this.#branches.set(number, (this.#branches.get(number) ?? 0) + 1)
      for (const transaction of this.#remove(number)) {
        if (this.#replaced++ % DROPPED !== 0) this.#put(transaction)
      }
    }
  }

  #put(transaction: ChainTransaction): void {
    const next = this.#head + 1
    const block = this.#blocks.get(next)
    if (block !== undefined) block.push(transaction)
    else this.#blocks.set(next, [transaction])
    this.#transactions++
    for (const oldest of this.#blocks.keys()) {
      if (this.#transactions <= KEPT || oldest === next) break
      this.#remove(oldest)
    }
  }

  #remove(number: number): readonly ChainTransaction[] {
    const transactions = this.#blocks.get(number) ?? []
    this.#blocks.delete(number)
    this.#transactions -= transactions.length
    return transactions
  }

  #hash(number: number): string {
    const branch = this.#branches.get(number) ?? 0
    return `0x${this.#world.hex(`venuea/block/${number}/${branch}`, 64)}`
  }

  #due(): number {
    return Math.max(this.#head, Math.floor(this.#world.now('venuea') / BLOCK_MS))
  }
}
