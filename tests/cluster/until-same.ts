import { compareStores } from '../../packages/service/src/derive/rebuild.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { until } from '../capture/recorder-process.ts'

const PATIENCE_MS = 30_000

/**
 * Waits until running nodes have all of a tape that is not written any more. It returns too when one of them never has:
 * the test compares the tapes afterwards and says what is missing.
 */
export async function untilSame(tape: string, copies: readonly string[]): Promise<void> {
  const written = openEmbeddedStore({ file: tape, readOnly: true })
  for (const file of copies) {
    const isSame = async (): Promise<true | undefined> => {
      const copy = openEmbeddedStore({ file, readOnly: true })
      const { differences } = await compareStores(written, copy)
      await copy.close()
      return differences.length === 0 ? true : undefined
    }
    await until('the same tape', PATIENCE_MS, isSame).catch(() => undefined)
  }
  await written.close()
}
