"""How weights move: the loop and its observers, optimisers and schedules, checkpoints, devices and ranks."""

from regard.core.config import Choices

OPTIMIZERS = Choices(
    "optimizer",
    "adam",
    {
        "adam": "regard.training.optimizers:AdamConfig",
        "adamw": "regard.training.optimizers:AdamWConfig",
        "muon": "regard.training.muon:MuonConfig",
    },
)
SCHEDULES = Choices(
    "schedule",
    "paper",
    {
        "paper": "regard.training.schedules:PaperSchedule",
        "inverse-root": "regard.training.schedules:InverseRootSchedule",
        "cosine": "regard.training.schedules:CosineSchedule",
        "linear": "regard.training.schedules:LinearSchedule",
        "constant": "regard.training.schedules:ConstantSchedule",
    },
)
