import { UsageError } from '../command-line/index.ts'
import { parseMicros, windowMicros, type Micros } from '../domain/index.ts'
import type { ContractJson } from '../wire/index.ts'
import { shortTime, type CliContext } from './command.ts'
import { CliError } from './errors.ts'

const FAMILY = /^([A-Za-z0-9]{1,16})-(\d{1,3}[mhd])$/

/** The round of a family such as BTC-15m that is open now or was at a time, or the contract that is named. */
export async function findContractId(
  context: CliContext,
  text: string | undefined,
  at: string | undefined,
): Promise<string> {
  if (text === undefined || text === '') {
    throw new UsageError('a contract is missing', 'Such as BTC-15m, or an id of /v3/contracts.')
  }
  const [, asset, window] = FAMILY.exec(text) ?? []
  if (asset === undefined || window === undefined) return text
  const found =
    at === undefined
      ? await readContracts(context, { asset, window, status: 'open' }, 1)
      : await contractsAt(context, asset, window, parseMicros(at))
  const [contract] = found
  if (contract !== undefined) return contract.id
  const when = at === undefined ? 'now' : `at ${shortTime(at)}`
  const hint = 'A contract has markets of at least two venues; priorbook markets lists single ones.'
  throw new CliError('empty', `no contract ${asset.toUpperCase()}-${window} is open ${when}`, hint)
}

// Windows that contain a time close within their length after it.
async function contractsAt(
  context: CliContext,
  asset: string,
  window: string,
  at: Micros,
): Promise<readonly ContractJson[]> {
  const length = windowMicros(window) ?? 0
  const range = { start_time: String(at + 1), end_time: String(at + length + 1) }
  const found = await readContracts(context, { asset, window, ...range }, 1000)
  return found.filter(({ opens }) => opens !== null && parseMicros(String(opens)) <= at)
}

async function readContracts(
  context: CliContext,
  filters: Parameters<ReturnType<CliContext['client']>['contracts']>[0],
  limit: number,
): Promise<readonly ContractJson[]> {
  const walk = context.client().contracts({ ...filters, limit }, { signal: context.signal })
  return (await walk.page()).data
}
