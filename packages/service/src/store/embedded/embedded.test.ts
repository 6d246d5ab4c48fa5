import { describeStoreContract } from '../store.contract.ts'
import { openEmbeddedStore } from './open.ts'
import { openTape, SMALL_LIMITS } from './opened-tape.testing.ts'

describeStoreContract('embedded', async () =>
  openTape((file) => openEmbeddedStore({ file, limits: SMALL_LIMITS })),
)
