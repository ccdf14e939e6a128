"""A process group of one, without a network: some frameworks save through nothing less."""

import torch.distributed


def begin() -> None:
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
