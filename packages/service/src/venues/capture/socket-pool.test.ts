import { expect, it } from 'vitest'
import { untilAborted } from '../../lib/wait.ts'
import { SocketPool, type PooledSocket } from './socket-pool.ts'

/** A socket that only remembers what it was told. */
class TestSocket implements PooledSocket {
  readonly keys = new Set<string>()
  readonly told: string[] = []
  runs = 0
  readonly slot: number
  readonly link = {
    run: (signal: AbortSignal): Promise<void> => {
      this.runs++
      return untilAborted(signal)
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

function poolOf(keysPerSocket: number): { pool: SocketPool<TestSocket>; sockets: TestSocket[] } {
  const sockets: TestSocket[] = []
  const create = (slot: number): TestSocket => {
    const socket = new TestSocket(slot)
    sockets.push(socket)
    return socket
  }
  return { pool: new SocketPool({ keysPerSocket, create }), sockets }
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
