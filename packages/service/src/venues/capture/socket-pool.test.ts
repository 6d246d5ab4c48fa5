import { expect, it } from 'vitest'
import { untilAborted } from '../../lib/wait.ts'
import { SocketPool, type PooledSocket } from './socket-pool.ts'

/** A socket that only remembers what it was told. */
class TestSocket implements PooledSocket {
  readonly keys = new Set<string>()
  readonly told: string[] = []
  runs = 0
  refuse: () => void = () => undefined
  readonly slot: number
  readonly link = {
    run: (signal: AbortSignal): Promise<void> => {
      this.runs++
      const refused = new Promise<void>((resolve) => (this.refuse = resolve))
      return Promise.race([untilAborted(signal), refused])
    },
    send: () => true,
    restart: () => undefined,
    connected: true,
    lastFrame: undefined,
  }

  constructor(slot: number) {
    this.slot = slot
  }

  subscribe(keys: readonly string[]): void {
    this.told.push(`+${keys.join()}`)
  }

  unsubscribe(keys: readonly string[]): void {
    this.told.push(`-${keys.join()}`)
  }
}

function poolOf(
  keysPerSocket: number,
  endsIdle = false,
): { pool: SocketPool<TestSocket>; sockets: TestSocket[] } {
  const sockets: TestSocket[] = []
  const create = (slot: number): TestSocket => {
    const socket = new TestSocket(slot)
    sockets.push(socket)
    return socket
  }
  return { pool: new SocketPool({ keysPerSocket, endsIdle, create }), sockets }
}

it('fills sockets, and keeps keys that come together on one of them', () => {
  const { pool, sockets } = poolOf(3)
  expect(pool.add(['a', 'b'])).toEqual([])
  pool.add(['c', 'd'])
  pool.add(['e', 'a'])
  expect(sockets.map(({ told }) => told)).toEqual([['+a,b', '+e'], ['+c,d']])
  pool.add(['f', 'g', 'h', 'i'])
  expect(pool.status.map(({ subscriptions }) => subscriptions)).toEqual([3, 3, 3])
  expect(pool.status.map(({ slot }) => slot)).toEqual([1, 2, 3])
})

it('spreads groups over as many sockets as all keys need, each on one socket', () => {
  const { pool, sockets } = poolOf(4)
  expect(pool.spread([['a', 'b'], ['c'], ['a']], 12)).toEqual([])
  pool.spread([['d', 'e'], ['f', 'g'], ['h'], []], 12)
  expect(sockets.map(({ told }) => told)).toEqual([['+a,b', '+h'], ['+c', '+f,g'], ['+d,e']])
  // Those for which no socket has room get another one.
  pool.spread([['i'], ['j', 'k'], ['l', 'm']], 12)
  expect(pool.status.map(({ subscriptions }) => subscriptions)).toEqual([3, 3, 3, 4])
})

it('opens only some of the sockets that many keys need at a time', () => {
  const { pool } = poolOf(1)
  pool.spread([['a'], ['b']], 40)
  expect(pool.status).toHaveLength(10)
  pool.spread([['c']], 40)
  expect(pool.status).toHaveLength(20)
})

it('names the keys of groups that no socket has room for', () => {
  const { pool } = poolOf(1)
  const groups = Array.from({ length: 255 }, (_, index) => [String(index)])
  expect(pool.spread(groups, 255)).toEqual(['253', '254'])
})

it('removes keys where they are, and gives their room to others', () => {
  const { pool, sockets } = poolOf(2)
  pool.add(['a', 'b'])
  pool.add(['c', 'd'])
  pool.remove(['a', 'c', 'unknown'])
  pool.add(['e'])
  expect(sockets.map(({ told }) => told)).toEqual([
    ['+a,b', '-a', '+e'],
    ['+c,d', '-c'],
  ])
  expect(pool.socketOf('e')).toBe(sockets[0])
  expect(pool.socketOf('a')).toBeUndefined()
})

it('moves a key to another socket, opening one if it must', () => {
  const { pool, sockets } = poolOf(2)
  pool.add(['a', 'b'])
  expect(pool.move('a')).toBe(true)
  expect(sockets.map(({ told }) => told)).toEqual([['+a,b', '-a'], ['+a']])
  expect(pool.move('unknown')).toBe(false)
})

it('runs sockets of before and after its start, and ends with all of them', async () => {
  const { pool, sockets } = poolOf(1)
  const stop = new AbortController()
  pool.add(['a'])
  const running = pool.run(stop.signal)
  pool.add(['b'])
  expect(sockets.map(({ runs }) => runs)).toEqual([1, 1])
  stop.abort()
  await running
})

it('has as many sockets as journal slots, and names the keys that are left over', () => {
  const { pool } = poolOf(1)
  const keys = Array.from({ length: 255 }, (_, index) => String(index))
  expect(pool.add(keys)).toEqual(['253', '254'])
  expect(pool.move('0')).toBe(false)
})

it('carries exactly the wanted keys, and ends a socket without keys where the venue wants it', async () => {
  const { pool, sockets } = poolOf(2, true)
  const abort = new AbortController()
  const running = pool.run(abort.signal)
  pool.carry(new Set(['a']))
  pool.carry(new Set(['b']))
  expect(sockets.map(({ told }) => told)).toEqual([['+a', '+b', '-a']])
  pool.carry(new Set())
  expect(pool.status).toEqual([])
  pool.carry(new Set(['c']))
  expect(sockets.map(({ slot, told }) => [slot, told.at(-1)])).toEqual([
    [1, '-a'],
    [1, '+c'],
  ])
  abort.abort()
  await running
})

it('gives the keys of a socket that was refused for good to another', async () => {
  const { pool, sockets } = poolOf(2)
  const abort = new AbortController()
  const running = pool.run(abort.signal)
  pool.add(['a'])
  sockets[0]!.refuse()
  await new Promise(setImmediate)
  expect(pool.socketOf('a')).toBeUndefined()
  pool.add(['a'])
  expect(pool.socketOf('a')).toBe(sockets[1])
  abort.abort()
  await running
})
