import type { UpstreamAnswer, UpstreamRequest } from '../../../core/upstream.ts'
import type { BlockHead, Ledger, PlacedLog } from './ledger.ts'

/** What goes wrong with answers. */
export interface RpcFaults {
  /** The most blocks of a range while a fault lowers it. */
  maxBlocks(): number | undefined
  /** True where the next answer refuses because of too many requests. */
  refuses(): boolean
  /** True where the next list of events contains every event twice. */
  duplicates(): boolean
}

/** The chain id of BNB Smart Chain. */
const CHAIN_ID = 56
/** Max blocks of a range of `eth_getLogs`. */
const MAX_BLOCKS = 500
const JSON_TYPE = { 'content-type': 'application/json' } as const

/** Creates the request handler of the chain's JSON-RPC interface. */
export function createRpc(
  ledger: Ledger,
  faults: RpcFaults,
): (request: UpstreamRequest) => UpstreamAnswer {
  const methods: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_chainId: () => toQuantity(CHAIN_ID),
    eth_blockNumber: () => toQuantity(ledger.head),
    eth_getBlockByNumber: ([number]) => toBlock(ledger, number),
    eth_getLogs: ([filter]) => findLogs(ledger, faults, filter),
  }
  return ({ method, body }) => {
    if (method !== 'POST') return answer(405, { error: 'use POST' })
    const call = parseCall(body)
    if (call === undefined) return fail(null, new RpcError(-32700, 'parse error'))
    const { id, method: name, params } = call
    if (faults.refuses()) {
      return answer(429, toFailure(id, new RpcError(-32005, 'rate limit exceeded')))
    }
    const run = Object.hasOwn(methods, name) ? methods[name] : undefined
    if (run === undefined)
      return fail(id, new RpcError(-32601, `the method ${name} does not exist`))
    try {
      return answer(200, { jsonrpc: '2.0', id, result: run(params) })
    } catch (error) {
      if (error instanceof RpcError) return fail(id, error)
      throw error
    }
  }
}

class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

type Call = {
  readonly id: number | string | null
  readonly method: string
  readonly params: readonly unknown[]
}

function parseCall(body: string): Call | undefined {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { id = null, method, params = [] } = value as Partial<Call>
  if (typeof method !== 'string' || !Array.isArray(params)) return undefined
  return { id, method, params }
}

function toBlock(ledger: Ledger, number: unknown): object | null {
  const head = ledger.block(number === 'latest' ? ledger.head : readQuantity(number))
  return head === undefined ? null : printBlock(head)
}

function findLogs(ledger: Ledger, faults: RpcFaults, value: unknown): object[] {
  if (typeof value !== 'object' || value === null) throw new RpcError(-32602, 'invalid filter')
  const { fromBlock, toBlock: last, address, topics } = value as Readonly<Record<string, unknown>>
  const from = readQuantity(fromBlock)
  const to = readQuantity(last)
  if (to < from) throw new RpcError(-32602, 'invalid block range')
  const most = faults.maxBlocks() ?? MAX_BLOCKS
  const blocks = to - from + 1
  if (blocks > most) throw new RpcError(-32602, `range ${blocks} exceeds limit of ${most}`)
  const logs = ledger.logs(from, to)
  if (logs === undefined) throw new RpcError(-32000, 'history has been pruned for this block')
  const addresses = listOf(address)
  const events = listOf(Array.isArray(topics) ? topics[0] : undefined)
  const found = logs
    .filter((log) => addresses === undefined || addresses.includes(log.address))
    .filter((log) => events === undefined || events.includes(log.topics[0]!))
    .map(printLog)
  return faults.duplicates() ? found.flatMap((log) => [log, log]) : found
}

// One address or topic, or several; undefined for all.
function listOf(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined
  return (Array.isArray(value) ? value : [value]).map((one) => String(one).toLowerCase())
}

function printBlock({ number, hash, parentHash, timestamp }: BlockHead): object {
  const stamp = toQuantity(timestamp)
  return { number: toQuantity(number), hash, parentHash, timestamp: stamp, transactions: [] }
}

function printLog(log: PlacedLog): object {
  const { address, topics, data, blockNumber, blockHash, transactionHash } = log
  return {
    address,
    topics,
    data,
    blockNumber: toQuantity(blockNumber),
    transactionHash,
    transactionIndex: toQuantity(log.transactionIndex),
    blockHash,
    logIndex: toQuantity(log.logIndex),
    removed: false,
  }
}

function readQuantity(value: unknown): number {
  if (typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value)) return Number(value)
  throw new RpcError(-32602, 'invalid block number')
}

function toQuantity(value: number): string {
  return `0x${value.toString(16)}`
}

function fail(id: Call['id'], error: RpcError): UpstreamAnswer {
  return answer(200, toFailure(id, error))
}

function toFailure(id: Call['id'], { code, message }: RpcError): object {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function answer(status: number, value: object): UpstreamAnswer {
  return { status, body: JSON.stringify(value), headers: JSON_TYPE, bucket: 'chain' }
}
