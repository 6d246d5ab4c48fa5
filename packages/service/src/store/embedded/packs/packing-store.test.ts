import { describeStoreContract } from '../../store.contract.ts'
import { openPacking } from './packing-store.testing.ts'

describeStoreContract('embedded, with old chunks in packs', async () => openPacking())
