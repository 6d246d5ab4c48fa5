import { useEffect, useState } from 'preact/hooks'
import { RETRY_MS, toTrouble, type Trouble } from './trouble.ts'

/** The state of a panel's data. */
export type Load<Data> = {
  readonly data: Data | undefined
  readonly trouble: Trouble | undefined
  readonly isLoading: boolean
}

/** Loads when the dependencies change, again after a temporary failure, and periodically with `everyMs`. */
export function useLoad<Data>(
  run: (signal: AbortSignal) => Promise<Data>,
  dependencies: readonly unknown[],
  everyMs?: number,
): Load<Data> {
  const [load, setLoad] = useState<Load<Data>>({
    data: undefined,
    trouble: undefined,
    isLoading: true,
  })
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const reload = (ms: number): void => {
      timer = setTimeout(() => void attempt(), ms)
    }
    const attempt = async (): Promise<void> => {
      try {
        const data = await run(stop.signal)
        if (stop.signal.aborted) return
        setLoad({ data, trouble: undefined, isLoading: false })
        if (everyMs !== undefined) reload(everyMs)
      } catch (error) {
        if (stop.signal.aborted) return
        const trouble = toTrouble(error)
        setLoad(({ data }) => ({ data, trouble, isLoading: false }))
        if (trouble.isTemporary) reload(RETRY_MS)
      }
    }
    setLoad(({ data }) => ({ data, trouble: undefined, isLoading: true }))
    void attempt()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, dependencies)
  return load
}
