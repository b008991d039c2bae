"""Requests to a car: gauges must be read first, and errors say what is missing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnscope.environments.bfcl._scenes import Asked, Call, Scene, one

TANK = 50
"""Gallons in a full tank."""
LEVELS = tuple(range(10, TANK, 10))
SPEEDS = (60, 70, 80, 90)
GAPS = (10, 20, 30, 40)
CITIES = ("rome", "oslo", "lima", "bern")
PARAMETERS = {
    "displayCarStatus": ("option",),
    "fillFuelTank": ("fuelAmount",),
    "pressBrakePedal": ("pedalPosition",),
    "releaseBrakePedal": (),
    "startEngine": ("ignitionMode",),
    "setCruiseControl": ("speed", "activate", "distanceToNextVehicle"),
    "setHeadlights": ("mode",),
    "activateParkingBrake": ("mode",),
    "set_navigation": ("destination",),
}
KINDS = {
    "displayCarStatus": ("option",),
    "fillFuelTank": ("fuel",),
    "startEngine": ("start",),
    "setCruiseControl": ("speed", "", "gap"),
    "setHeadlights": ("light",),
    "activateParkingBrake": ("brake",),
    "set_navigation": ("city",),
}
DOORS = ("driver", "passenger", "rear_left", "rear_right")
FULL: Call = ("pressBrakePedal", 1)
START: Call = ("startEngine", "START")


@dataclass
class World:
    """The car, as far as requests depend on it."""

    fuel: int
    """Gallons in the tank."""
    running: bool
    pressure: float
    """Of a tyre, psi; makes tasks differ that ask the same."""
    lit: bool = False
    parked: bool = False
    cruising: tuple[int, int] | None = None
    going: str = ""

    def config(self) -> dict[str, Any]:
        """Return the configuration of the official class."""
        return {
            "fuelLevel": float(self.fuel),
            "engineState": "running" if self.running else "stopped",
            "doorStatus": dict.fromkeys(DOORS, "locked"),
            "frontLeftTirePressure": self.pressure,
        }

    def ask(self, random: np.random.Generator) -> Asked:
        """Draw a request that changes something, and do it."""
        asks = [self._cruise, self._cruise, self._navigate]
        asks += [self._light] * (not self.lit) + [self._park] * (not self.parked)
        asks += [self._fill] * (2 * (self.fuel < TANK)) + [self._start] * (not self.running)
        return one(random, asks)(random)

    def _light(self, random: np.random.Generator) -> Asked:
        self.lit = True
        return Asked("lights on", (("setHeadlights", "on"),))

    def _park(self, random: np.random.Generator) -> Asked:
        self.parked = True
        return Asked("parking brake", (("activateParkingBrake", "engage"),))

    def _navigate(self, random: np.random.Generator) -> Asked:
        self.going = one(random, [city for city in CITIES if city != self.going])
        return Asked(f"go to {self.going}", (("set_navigation", self.going),))

    def _fill(self, random: np.random.Generator) -> Asked:
        more, self.fuel = TANK - self.fuel, TANK
        return Asked("full tank", (("displayCarStatus", "fuel"), ("fillFuelTank", more)))

    def _start(self, random: np.random.Generator) -> Asked:
        self.running = True
        return Asked("start engine", (FULL, START))

    def _cruise(self, random: np.random.Generator) -> Asked:
        before = () if self.running else (FULL, START)
        wanted = one(random, SPEEDS), one(random, GAPS)
        self.running, self.cruising = True, wanted
        call = ("setCruiseControl", wanted[0], True, wanted[1])
        return Asked(f"cruise at {wanted[0]} gap {wanted[1]}", (*before, call))


def draw(random: np.random.Generator) -> World:
    """Draw a car."""
    return World(
        fuel=one(random, LEVELS),
        running=bool(random.random() < 0.5),
        pressure=float(random.integers(280, 361)) / 10,
    )


def pools(config: dict[str, Any]) -> dict[str, Any]:
    """List what can be mistaken for another."""
    return {
        "option": ("fuel", "engine", "doors"),
        "fuel": LEVELS,
        "speed": SPEEDS,
        "gap": GAPS,
        "light": ("on", "off"),
        "brake": ("engage", "release"),
        "start": ("START", "STOP"),
        "city": CITIES,
    }


SCENE = Scene(
    stratum="cars",
    parameters=PARAMETERS,
    kinds=KINDS,
    looks=frozenset({"displayCarStatus"}),
    draw=draw,
    pools=pools,
    slips=(
        "setHeadlights on",
        "setHeadlights off",
        "activateParkingBrake engage",
        "set_navigation home",
    ),
)
