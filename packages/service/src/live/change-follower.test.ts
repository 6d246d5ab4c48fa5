import { describe, expect, it } from 'vitest'
import type { Changes, StoreReader } from '../store/store.ts'
import { ChangeFollower } from './change-follower.ts'

const CHANGES: Changes = { books: [], trades: [], markets: [], gaps: [] }

/** A source whose followers return scripted answers, one per poll. */
function createSource(answers: (Changes | Error | undefined)[]): {
  readonly source: StoreReader
  readonly counts: { opened: number; closed: number }
} {
  const counts = { opened: 0, closed: 0 }
  const poll = async (): Promise<Changes | undefined> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const follow = async (): Promise<object> => {
    counts.opened++
    return { poll, close: () => void counts.closed++ }
  }
  return { source: { follow } as unknown as StoreReader, counts }
}

const failures = (times: number): Error[] =>
  Array.from({ length: times }, (_, at) => new Error(`failure ${at + 1}`))

describe('a change follower', () => {
  it('keeps its follower through 19 failures and still reports a rebuild', async () => {
    const { source, counts } = createSource([...failures(19), { ...CHANGES, missed: 'rebuilt' }])
    const follower = new ChangeFollower(source)
    for (let time = 1; time < 20; time++) {
      await expect(follower.poll()).rejects.toThrow(`failure ${time}`)
    }
    expect(await follower.poll()).toEqual({ ...CHANGES, missed: 'rebuilt' })
    expect(counts).toEqual({ opened: 1, closed: 0 })
  })

  it('replaces its follower after 20 failures and reports that changes may have been missed', async () => {
    const { source, counts } = createSource([...failures(20), undefined, CHANGES])
    const follower = new ChangeFollower(source)
    for (let time = 1; time <= 20; time++) await expect(follower.poll()).rejects.toThrow('failure')
    expect(await follower.poll()).toEqual({ ...CHANGES, missed: 'rebuilt' })
    expect(await follower.poll()).toEqual(CHANGES)
    expect(counts).toEqual({ opened: 2, closed: 1 })
    follower.close()
    expect(counts).toEqual({ opened: 2, closed: 2 })
  })
})
